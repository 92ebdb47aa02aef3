-- The warm-up is counted apart; agents tell how they themselves were; and what is timed of all steps together has rows of
-- its own, step 65535. A span's body is NULL where its rows say it all: one step's at most, and one of all steps
-- together, of the same part.

ALTER TABLE agent_seconds ADD COLUMN warmup_started INTEGER NOT NULL DEFAULT 0;  -- iterations
ALTER TABLE agent_seconds ADD COLUMN warmup_finished INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_seconds ADD COLUMN warmup_missed INTEGER NOT NULL DEFAULT 0;

ALTER TABLE spans ADD COLUMN warmup_started INTEGER NOT NULL DEFAULT 0;          -- iterations
ALTER TABLE spans ADD COLUMN warmup_finished INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spans ADD COLUMN warmup_missed INTEGER NOT NULL DEFAULT 0;
-- Thousandths of the time, of the agent that had the most of it in one second; NULL where no agent told.
ALTER TABLE spans ADD COLUMN busiest INTEGER;                                    -- that its busiest worker ran
ALTER TABLE spans ADD COLUMN stolen INTEGER;                                     -- that its machine's host took away

-- How an agent was in a second of the run.
CREATE TABLE agent_health (
    run INTEGER NOT NULL,
    second INTEGER NOT NULL,
    incarnation INTEGER NOT NULL,
    form INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (run, second, incarnation)
) WITHOUT ROWID;
