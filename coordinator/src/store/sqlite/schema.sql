-- One run: what lists show of it, and how far its results are in their final form.
CREATE TABLE runs (
    key INTEGER PRIMARY KEY,               -- by age
    id TEXT NOT NULL UNIQUE,
    created_s INTEGER NOT NULL,            -- Unix time
    over INTEGER NOT NULL DEFAULT 0,
    complete_s INTEGER NOT NULL DEFAULT 0, -- every live agent has reported the seconds before it
    rolled INTEGER NOT NULL DEFAULT 0,     -- it is over, and all its minutes are there
    thinned INTEGER NOT NULL DEFAULT 0,    -- 1: its seconds are being removed; 2: they are gone
    removed INTEGER NOT NULL DEFAULT 0,    -- it is being removed as a whole
    form INTEGER NOT NULL,
    summary TEXT NOT NULL                  -- JSON, as the list of runs has it
);
CREATE INDEX runs_finished ON runs (key) WHERE over AND NOT removed;
CREATE INDEX runs_to_close ON runs (key) WHERE NOT over AND NOT removed;
CREATE INDEX runs_to_roll ON runs (key) WHERE over AND NOT rolled AND NOT removed;
CREATE INDEX runs_to_thin ON runs (created_s) WHERE over AND thinned < 2 AND NOT removed;
CREATE INDEX runs_by_age ON runs (created_s) WHERE over AND NOT removed;
CREATE INDEX runs_to_remove ON runs (key) WHERE removed;

CREATE TABLE documents (
    run INTEGER PRIMARY KEY,
    form INTEGER NOT NULL,
    body TEXT NOT NULL                     -- JSON
);

-- Windows as they came that are not merged yet; and those that came after the end of their run, which never are.
CREATE TABLE messages (
    key INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,          -- an unsigned number, its bits taken as a signed one
    sequence INTEGER NOT NULL,             -- likewise
    late INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (run, incarnation, sequence)
);

-- What a run knows of an agent beside its unmerged windows.
CREATE TABLE agents (
    run INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    all_up_to INTEGER NOT NULL DEFAULT 0,  -- the windows up to this one were merged,
    beyond BLOB NOT NULL DEFAULT x'',      -- and these: 8 bytes each, little-endian
    granted INTEGER NOT NULL DEFAULT 0,    -- iterations that it had leave for
    iterations INTEGER NOT NULL DEFAULT 0, -- those that it started, of merged windows
    started INTEGER NOT NULL DEFAULT 0,    -- requests, likewise
    ok INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, incarnation)
);

CREATE TABLE agent_seconds (
    run INTEGER NOT NULL,
    second INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    started INTEGER NOT NULL,              -- iterations
    finished INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    users INTEGER NOT NULL,
    in_flight INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    PRIMARY KEY (run, second, incarnation)
) WITHOUT ROWID;

-- Merged results by step. Scale 1 is as they came, mostly a second each; scale 60 is by the minute.
CREATE TABLE rows (
    key INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    scale INTEGER NOT NULL,
    from_s INTEGER NOT NULL,
    to_s INTEGER NOT NULL,
    step INTEGER NOT NULL,
    part INTEGER NOT NULL,                 -- 0 warm-up, 1 measured
    form INTEGER NOT NULL,
    body BLOB NOT NULL,
    UNIQUE (run, scale, from_s, to_s, step, part)
);

-- The same over all steps, with the scalars of the fleet. A second is scale 1, a minute is scale 60; a minute is here
-- once all its rows are.
CREATE TABLE spans (
    key INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    scale INTEGER NOT NULL,
    from_s INTEGER NOT NULL,
    started INTEGER NOT NULL,              -- iterations
    finished INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    users INTEGER NOT NULL,
    in_flight INTEGER NOT NULL,
    connections INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body BLOB,                             -- NULL: at most one row lies in it, and says it all
    UNIQUE (run, scale, from_s)
);

-- Totals of merged windows over the whole run, which don't depend on how long seconds and minutes are kept.
CREATE TABLE totals (
    run INTEGER NOT NULL,
    part INTEGER NOT NULL,
    step INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (run, part, step)
);

CREATE TABLE orders (
    run INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    number INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body TEXT NOT NULL,                    -- JSON
    PRIMARY KEY (run, incarnation, number)
);
