-- What went to each of the target's addresses, of merged windows over the whole run, warm-up included. There are few.

CREATE TABLE addresses (
    run INTEGER NOT NULL,
    address TEXT NOT NULL,
    connections INTEGER NOT NULL,          -- opened
    failures INTEGER NOT NULL,             -- of attempts to connect
    requests INTEGER NOT NULL,
    PRIMARY KEY (run, address)
) WITHOUT ROWID;
