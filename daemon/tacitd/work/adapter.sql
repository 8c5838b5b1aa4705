-- The tables of the adapter for handlers of the first contract. They go with it.

CREATE TABLE adapter_position(
  plugin TEXT NOT NULL,
  transcript TEXT NOT NULL,
  offset INTEGER NOT NULL,              -- bytes that the handler handled
  acted INTEGER NOT NULL DEFAULT -1,    -- the offset when it last did something; -1: never
  ended INTEGER NOT NULL DEFAULT -1,    -- `acted` when it handled the end of the session
  PRIMARY KEY(plugin, transcript)
) WITHOUT ROWID;

CREATE TABLE adapter_passed(            -- records of a pause
  transcript TEXT NOT NULL,
  start INTEGER NOT NULL,
  end INTEGER NOT NULL,
  PRIMARY KEY(transcript, start)
) WITHOUT ROWID;

CREATE TABLE adapter_commit(            -- what handlers did
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  plugin TEXT NOT NULL,
  at REAL NOT NULL,
  event TEXT NOT NULL,
  transcript TEXT NOT NULL,
  session TEXT NOT NULL,
  upto INTEGER NOT NULL,
  data TEXT NOT NULL,                   -- text: JSON
  task INTEGER UNIQUE,                  -- the task that it ended; NULL for a snapshot
  folded INTEGER NOT NULL DEFAULT 0     -- whether a later snapshot contains it
);
CREATE TABLE adapter_rejected(          -- events without prompts that were rejected
  number INTEGER PRIMARY KEY,
  plugin TEXT NOT NULL,
  at REAL NOT NULL,
  event TEXT NOT NULL,
  reason TEXT NOT NULL                  -- text
);

CREATE INDEX adapter_commit_plugin ON adapter_commit(plugin, folded, number);
