-- Postings of terms that only few passages of a segment hold: many terms to a row, so that most of the vocabulary
-- costs no row of its own. A segment without `rare` is of an earlier version: all of its postings are in lex_post.
alter table lex_seg add column rare int4;                  -- a term of it lies in the part `term >> rare`
create table lex_rare (                                    -- immutable once committed; replaced only by a merge
  space int4 not null,
  part  int4 not null,
  seg   int4 not null,
  n     int4 not null,
  post  bytea not null,                                    -- n x (int4 term, int4 passage, uint2 code), ascending
  primary key (space, seg, part)
);
alter table lex_rare alter post set storage external;
alter table lex_rare set (autovacuum_vacuum_scale_factor = 0.1);
