-- Who published what a segment or a row of the outbox holds: a question that names none of them is ranked without
-- looking at the sources of all its candidates. Null where it is not known; a superset where passages are gone.
alter table lex_seg add column publishers text[];
alter table lex_new add column publisher text;
