-- What transcripts say of sessions that the seed's file has no field for, and what is needed to fold the next records. The session
-- itself is its file. A session in which nobody typed has no row.

CREATE TABLE continuity_session(
  id TEXT PRIMARY KEY,
  cwd TEXT NOT NULL,                    -- of the newest prompt
  branch TEXT NOT NULL,                 -- of git
  started REAL NOT NULL,                -- time of the first record
  last REAL NOT NULL,                   -- time of the newest record
  tasks TEXT NOT NULL,                  -- text: JSON, the client's tasks
  written TEXT NOT NULL,                -- text: JSON, the client's tasks when the file was written last
  calls TEXT NOT NULL,                  -- text: JSON, calls of the client's tools without an answer
  edits TEXT NOT NULL,                  -- text: JSON, how often each file was edited, by path
  said TEXT NOT NULL,                   -- text: the end of the assistant's last text
  said_at REAL NOT NULL,
  answered INTEGER NOT NULL,            -- whether that text came after the last prompt
  summary TEXT NOT NULL,                -- text: of a compaction, or of the model
  file_summary TEXT NOT NULL,           -- text: tacitd's summary that the file got last
  turns INTEGER NOT NULL,               -- texts of the assistant since the model was asked for a summary
  size INTEGER NOT NULL,                -- bytes of records since then
  compacted INTEGER NOT NULL,           -- whether the session was compacted since then
  asked_at REAL,                        -- when that was
  asked_turn INTEGER NOT NULL,          -- number of the last turn that the model was asked about
  project INTEGER,                      -- the one whose task writes its file
  unwritten INTEGER NOT NULL            -- how many changes its file does not have yet
) WITHOUT ROWID;
CREATE INDEX continuity_session_unwritten ON continuity_session(project) WHERE unwritten > 0;

CREATE TABLE continuity_turn(           -- what the model is asked to summarise, and the last two prompts of what it was asked about
  number INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  at REAL NOT NULL,
  prompt TEXT NOT NULL,                 -- id of the prompt; '': the words are the assistant's
  words TEXT NOT NULL                   -- text
);
CREATE INDEX continuity_turn_session ON continuity_turn(session, number);
