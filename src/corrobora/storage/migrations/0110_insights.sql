-- What sources told beside what was asked: questions, gaps of their own, sources that they name (knowledge base).
create table insight (
  source     int4 not null references source on delete cascade,
  kind       text not null,
  digest     text not null,                                -- of the text: the same of one source is kept once
  text       text not null,
  why        text not null default '',
  confidence float8 not null,
  terms      int4[] not null,
  run        text not null,
  seen       int4 not null default 1,
  added      timestamptz not null default now(),
  primary key (source, kind, digest)
);
create index insight_terms on insight using gin (terms);
