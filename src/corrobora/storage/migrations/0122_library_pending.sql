-- Pages that runs read from the web are stored at once, and indexed when their space is next searched, all together.
alter table source add column indexed boolean not null default true;
create index source_pending on source (space) where not indexed;
