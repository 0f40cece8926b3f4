-- A removed run takes its idempotency keys with it.
CREATE INDEX request_key_run ON request_key (run);
