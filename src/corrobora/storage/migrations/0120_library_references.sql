-- References that cost a check for every row and that the catalog keeps by itself: what is stored goes in with its
-- space and its snapshot held, and a space goes with all that is in it. One index less finds a known document.
alter table source drop constraint source_space_fkey;
alter table source drop constraint source_snapshot_fkey;
alter table passage drop constraint passage_source_fkey;
alter table alias drop constraint alias_source_fkey;
drop index source_snapshot;
