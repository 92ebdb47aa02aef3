-- What another process goes on from with a run that is not over: where its decider stood when it last gave orders, and
-- what each agent has reported in all. It goes once the run is over.

CREATE TABLE run_records (
    run INTEGER PRIMARY KEY,
    form INTEGER NOT NULL,
    body TEXT NOT NULL                     -- JSON
);

CREATE TABLE agent_records (
    run INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body TEXT NOT NULL,                    -- JSON
    PRIMARY KEY (run, incarnation)
);

CREATE TABLE agent_facts (
    run INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body TEXT NOT NULL,                    -- JSON
    PRIMARY KEY (run, incarnation)
) WITHOUT ROWID;
