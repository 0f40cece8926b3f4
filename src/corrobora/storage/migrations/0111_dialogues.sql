-- Dialogues with the manager: no run exists before the phrase, and what was said must outlive the process.
CREATE TABLE dialogue (
    id text PRIMARY KEY CHECK (id ~ '^[a-z0-9_-]{1,64}$'),
    version integer NOT NULL DEFAULT 1,            -- a writer that saw an older one is refused
    said text NOT NULL,                            -- the dialogue as JSON
    pending text NOT NULL DEFAULT '',              -- what the person said last, while it is not answered
    run text,                                      -- the run that the person authorized
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    request text NOT NULL                          -- JSON: where and how to research
);
CREATE INDEX dialogue_newest ON dialogue (updated_at DESC, id);
