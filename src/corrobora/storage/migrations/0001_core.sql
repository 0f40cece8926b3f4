-- Runs, their journal, their events, and what belongs to them.

CREATE EXTENSION IF NOT EXISTS vector;

-- The truth about runs. A job of the queue is only one attempt at one of them.
CREATE TABLE runs (
    id text PRIMARY KEY CHECK (id ~ '^[a-z0-9_-]{1,64}$'),
    status text NOT NULL DEFAULT 'queued',
    epoch integer NOT NULL DEFAULT 0,              -- number of the attempt that owns the run
    next_seq bigint NOT NULL DEFAULT 0,            -- last number given to an event
    owner text NOT NULL DEFAULT '',                -- the process of the newest attempt, for people
    outcome text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    elapsed_seconds double precision NOT NULL DEFAULT 0,   -- working time of all attempts
    cancel_requested boolean NOT NULL DEFAULT false,
    queue text NOT NULL DEFAULT '',                -- where its attempts are queued; '' until it is submitted
    priority integer NOT NULL DEFAULT 0,
    deadline timestamptz,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    request text NOT NULL                          -- JSON; last, because it may be long
) WITH (fillfactor = 50, toast_tuple_target = 512);
CREATE INDEX runs_newest ON runs (created_at DESC, id);
CREATE INDEX runs_open ON runs (id) WHERE status IN ('queued', 'running');

-- One row for each answered call. `digest` guards the text against flipped bits.
CREATE TABLE journal (
    run text NOT NULL,                             -- no foreign key: its check costs more than the write
    key text NOT NULL,
    epoch integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    digest bytea NOT NULL,
    meta text NOT NULL,
    out text NOT NULL,
    PRIMARY KEY (run, key)
);

-- Calls that were about to be sent. One without an answer is shown as "uncertain" after a crash.
CREATE TABLE journal_intent (
    run text NOT NULL,
    key text NOT NULL,
    epoch integer NOT NULL,
    PRIMARY KEY (run, key)
);

-- The one log that every listener folds. Numbers have no gaps within a run.
CREATE TABLE run_events (
    run text NOT NULL,
    seq bigint NOT NULL,
    epoch integer NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    type text NOT NULL,
    key text NOT NULL,
    path text NOT NULL,
    round integer,
    data text NOT NULL,                            -- JSON
    PRIMARY KEY (run, seq)
);

-- What a person decided while a run waited.
CREATE TABLE run_answer (
    run text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    topic text NOT NULL,                           -- "plan", or the key of a pause
    answer text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run, topic)
);

-- Reports and other files of a run, so that any machine can show them.
CREATE TABLE run_artifact (
    run text NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    name text NOT NULL,
    media_type text NOT NULL,
    digest bytea NOT NULL,
    bytes bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (run, name)
);

-- Runs that start by the clock. `next_at` moves in the statement that takes the turn.
CREATE TABLE schedule (
    id text PRIMARY KEY CHECK (id ~ '^[a-z0-9_-]{1,64}$'),
    cron text NOT NULL,
    request text NOT NULL,
    next_at timestamptz NOT NULL,
    last_run text
);

-- One row for each rate-limited provider: the theoretical arrival time of its next free slot (GCRA).
CREATE TABLE rate_limit (
    provider text PRIMARY KEY,
    tat timestamptz NOT NULL DEFAULT 'epoch'
) WITH (fillfactor = 50);
