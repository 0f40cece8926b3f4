-- Webhooks of runs: what is sent when a run has ended, and every attempt to send it.
ALTER TABLE runs ADD COLUMN webhook text NOT NULL DEFAULT '';  -- where its end is told; '' for nowhere

CREATE TABLE webhook_delivery (
    id text PRIMARY KEY,                           -- the webhook-id, the same in every attempt
    run text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    url text NOT NULL,
    status text NOT NULL,                          -- how the run ended
    outcome text NOT NULL,
    reason text NOT NULL,
    ended_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts integer NOT NULL DEFAULT 0,
    next_at timestamptz DEFAULT clock_timestamp(), -- of the next attempt; NULL if there is none
    delivered_at timestamptz
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX webhook_delivery_run ON webhook_delivery (run);

CREATE TABLE webhook_attempt (
    delivery text NOT NULL REFERENCES webhook_delivery (id) ON DELETE CASCADE,
    number integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    result text NOT NULL DEFAULT '',               -- '' until it is known, and after a crash
    PRIMARY KEY (delivery, number)
);

-- In the transaction that ends the run, whoever ends it: no crash can come between the end and its delivery.
CREATE FUNCTION note_run_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_delivery (id, run, url, status, outcome, reason)
    VALUES (NEW.id || '-' || NEW.epoch, NEW.id, NEW.webhook, NEW.status, NEW.outcome, NEW.reason)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER run_ended AFTER UPDATE OF status ON runs FOR EACH ROW
    WHEN (NEW.webhook <> '' AND NEW.status IN ('done', 'failed', 'cancelled')
        AND OLD.status NOT IN ('done', 'failed', 'cancelled'))
    EXECUTE FUNCTION note_run_end();
