-- What people say of runs, over what their documents say of it.
CREATE TABLE marks (
    run INTEGER PRIMARY KEY,
    form INTEGER NOT NULL,
    body TEXT NOT NULL                     -- JSON
);

-- Plans by name, with their earlier versions.
CREATE TABLE plans (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,              -- from 1
    saved_at TEXT NOT NULL,                -- RFC 3339, UTC
    text TEXT NOT NULL,                    -- YAML or JSON, as it was given
    PRIMARY KEY (name, version)
) WITHOUT ROWID;

-- The latest version that a removed plan had, so that no number comes again under its name.
CREATE TABLE removed_plans (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL
) WITHOUT ROWID;

-- Requests that started a run, by the key that their clients gave them.
CREATE TABLE requests (
    key TEXT PRIMARY KEY,
    asks TEXT NOT NULL,                    -- SHA-256 of what was asked for
    run TEXT NOT NULL,                     -- its name
    at_s INTEGER NOT NULL                  -- Unix time
) WITHOUT ROWID;
CREATE INDEX requests_by_age ON requests (at_s);
