-- When slots were reserved last: a clock that was set back since then would make everybody wait for the difference.
ALTER TABLE rate_limit ADD COLUMN at timestamptz NOT NULL DEFAULT clock_timestamp();
