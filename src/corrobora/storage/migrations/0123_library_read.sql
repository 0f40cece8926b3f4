-- When the folders of a library were last read: what was touched since may be new, what could not be read then is not.
alter table space add column read timestamptz;
