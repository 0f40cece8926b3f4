-- The authors that a source states, or a register of works: "Family, Given" of a person, any other name as it is.
alter table source add column authors text[] not null default '{}';
