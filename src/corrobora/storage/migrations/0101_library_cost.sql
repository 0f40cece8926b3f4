-- A passage belongs to a space through its source, and goes with it: a second reference costs a check for every row.
alter table passage drop constraint passage_space_fkey;
