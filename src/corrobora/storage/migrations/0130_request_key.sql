-- One run for one idempotency key of a caller of the HTTP API, also from another server over this database.
CREATE TABLE request_key (
    digest text PRIMARY KEY,                       -- of the caller and the key, which is not stored
    run text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
