-- The engine's tables: version 1. Only store.py opens the file. A plugin's tables are in the schema.sql of its folder and
-- begin with its name.
--
-- Times are seconds since 1970, UTC. Paths are absolute. Columns marked `-- text` may hold words of a person or of a
-- model; secrets are blanked before they are stored, and `forget --purge` goes through exactly these columns.
-- JSON columns hold one document each.

CREATE TABLE schema_version(
  owner TEXT PRIMARY KEY,               -- 'engine' or a plugin's name
  version INTEGER NOT NULL
) WITHOUT ROWID;

-- What is learned from, and where it belongs ------------------------------------------------------------------------

CREATE TABLE project(
  number INTEGER PRIMARY KEY,
  root TEXT NOT NULL UNIQUE,            -- the git top level (the main worktree's), otherwise the working directory
  common TEXT UNIQUE,                   -- git common directory; NULL without git
  device INTEGER,                       -- of the root, when it was last seen: a moved directory is the same project
  inode INTEGER,
  write_mode TEXT CHECK(write_mode IN ('local', 'shared', 'off')),  -- NULL: the configured one
  trusted INTEGER NOT NULL DEFAULT 0,   -- whether a LEARNED.md that tacitd did not write is copied to where clients load it
  first_seen REAL NOT NULL
);

CREATE TABLE transcript(
  path TEXT PRIMARY KEY,
  source TEXT NOT NULL,                 -- 'claude-code', 'codex'
  offset INTEGER NOT NULL,              -- bytes that were ingested; just after a newline
  crc INTEGER NOT NULL,                 -- CRC-32 of up to 256 bytes before the offset
  lines INTEGER NOT NULL DEFAULT 0,     -- newlines before the offset
  session TEXT NOT NULL DEFAULT '',
  cwd TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX transcript_session ON transcript(session);

CREATE TABLE session(
  id TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  transcript TEXT NOT NULL,
  project INTEGER REFERENCES project,   -- NULL: its directory is no project
  cwd TEXT NOT NULL DEFAULT '',
  client TEXT NOT NULL DEFAULT '',      -- version of the client
  headless INTEGER NOT NULL DEFAULT 0,  -- whether a program drives it
  started REAL NOT NULL,
  last REAL NOT NULL,                   -- time of its newest record
  refusals TEXT NOT NULL DEFAULT '{}',  -- JSON, rule or unknown value -> count of records that it refused
  ended REAL,                           -- NULL while it goes on; set again NULL when it is resumed
  pid INTEGER,                          -- of its client, once it was seen alive on this machine
  ended_by TEXT CHECK(ended_by IN ('idle', 'gone', 'replaced', 'asked'))
) WITHOUT ROWID;
CREATE INDEX session_open ON session(last) WHERE ended IS NULL;
CREATE INDEX session_project ON session(project, last);

CREATE TABLE prompt(
  number INTEGER PRIMARY KEY,           -- in the order in which prompts were ingested
  id TEXT NOT NULL UNIQUE,              -- uuid of the record; without one, a digest of text and time
  digest BLOB NOT NULL,                 -- 8 bytes: BLAKE2b of the folded text
  source TEXT NOT NULL,
  session TEXT NOT NULL,
  project INTEGER REFERENCES project,
  kind TEXT NOT NULL,                   -- PromptKind
  typed REAL NOT NULL,
  ingested REAL NOT NULL,
  passed TEXT CHECK(passed IN ('paused', 'excluded', 'no project'))  -- why its text was not kept
);
CREATE INDEX prompt_typed ON prompt(typed);
CREATE INDEX prompt_paused ON prompt(session) WHERE passed = 'paused';

CREATE TABLE prompt_text(               -- of a prompt that was not passed over, until 90 days after it was handled
  prompt INTEGER PRIMARY KEY REFERENCES prompt ON DELETE CASCADE,
  text TEXT NOT NULL,                   -- text: 200 characters once handled
  context TEXT NOT NULL,                -- text: up to 300 characters of the answer before it
  transcript TEXT NOT NULL,
  cwd TEXT NOT NULL,
  priority TEXT NOT NULL DEFAULT 'live' CHECK(priority IN ('live', 'scan')),
  handled REAL                          -- when the last of its tasks was done
);
CREATE INDEX prompt_text_handled ON prompt_text(handled) WHERE handled IS NOT NULL;
CREATE INDEX prompt_text_scanned ON prompt_text(transcript) WHERE priority = 'scan';

CREATE TABLE prompt_task(
  plugin TEXT NOT NULL,
  prompt INTEGER NOT NULL REFERENCES prompt ON DELETE CASCADE,
  state TEXT NOT NULL DEFAULT 'waiting' CHECK(state IN ('waiting', 'done', 'rejected')),
  tries INTEGER NOT NULL DEFAULT 0,     -- failures that the work itself may have caused
  reason TEXT NOT NULL DEFAULT '',      -- of the last failure or of the rejection
  PRIMARY KEY(prompt, plugin)           -- a prompt is finished by its number
) WITHOUT ROWID;
CREATE INDEX prompt_task_open ON prompt_task(plugin, prompt) WHERE state = 'waiting';

CREATE TABLE behind(                    -- an observer that raised; normally empty
  plugin TEXT NOT NULL,
  transcript TEXT NOT NULL,
  offset INTEGER NOT NULL,              -- from which the plugin has to be given the records again
  reason TEXT NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  due REAL NOT NULL,
  PRIMARY KEY(plugin, transcript)
) WITHOUT ROWID;

-- Work --------------------------------------------------------------------------------------------------------------

CREATE TABLE task(
  number INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: a task that runs and was asked for again has another
  plugin TEXT NOT NULL,
  lane TEXT NOT NULL,                   -- one task at a time for each (plugin, lane): the project's root, '', or 'scan'
  kind TEXT NOT NULL,                   -- TaskKind
  key TEXT NOT NULL,                    -- what it is about: one waiting task for each (plugin, kind, key)
  project INTEGER REFERENCES project,
  session TEXT NOT NULL DEFAULT '',
  data TEXT NOT NULL DEFAULT '{}',      -- text: JSON
  priority TEXT NOT NULL DEFAULT 'live' CHECK(priority IN ('live', 'scan')),
  created REAL NOT NULL,
  due REAL NOT NULL,
  tries INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',      -- why it waits; '' if it is only not due
  hint TEXT NOT NULL DEFAULT '',
  not_before REAL,                      -- before which a try is useless, if its reason names a time
  UNIQUE(plugin, kind, key)
);
CREATE INDEX task_due ON task(priority, due);
CREATE INDEX task_lane ON task(plugin, lane, kind, priority, due);

CREATE TABLE job(
  plugin TEXT NOT NULL,
  name TEXT NOT NULL,
  succeeded REAL NOT NULL,
  runs INTEGER NOT NULL DEFAULT 1,      -- how often it succeeded
  PRIMARY KEY(plugin, name)
) WITHOUT ROWID;

-- The model -----------------------------------------------------------------------------------------------------------

CREATE TABLE call(
  number INTEGER PRIMARY KEY,
  plugin TEXT NOT NULL,
  purpose TEXT NOT NULL,
  tier TEXT NOT NULL,                   -- 'fast', 'main'
  priority TEXT NOT NULL DEFAULT 'live' CHECK(priority IN ('live', 'scan')),
  project INTEGER REFERENCES project,
  session TEXT NOT NULL DEFAULT '',     -- of the client that made the call, known with its end: such a session is never read
  begun REAL NOT NULL,
  day TEXT NOT NULL,                    -- YYYY-MM-DD, local: a day of the budget
  process INTEGER,                      -- pid of the process that waits for the answer
  ended REAL,                           -- NULL: under way, or lost
  outcome TEXT CHECK(outcome IN ('answered', 'failed', 'stopped', 'lost')),  -- stopped: by tacitd itself, is no lost call
  used INTEGER,                         -- 1: its task was committed with the answer, 0: the answer was of no use
  model TEXT NOT NULL DEFAULT '',
  usd REAL NOT NULL DEFAULT 0,          -- the estimate until it ended
  assumed INTEGER NOT NULL DEFAULT 1,   -- whether `usd` is an estimate
  tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT '',
  answer TEXT                           -- text: until its task is committed
);
CREATE INDEX call_day ON call(day);

CREATE TABLE call_part(                 -- what a call is about, committed with its row before it begins
  call INTEGER NOT NULL REFERENCES call ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK(kind IN ('prompt', 'fact', 'line', 'file', 'work')),  -- work: the call itself, by its key
  number INTEGER NOT NULL,              -- by which the answer names it
  row TEXT NOT NULL,                    -- its row or path
  digest BLOB NOT NULL,                 -- 8 bytes: BLAKE2b of its text then; a number whose text changed since is void
  PRIMARY KEY(call, kind, number)
) WITHOUT ROWID;
CREATE INDEX call_part_row ON call_part(kind, row);

-- Files that people edit too --------------------------------------------------------------------------------------------

CREATE TABLE shared_file(
  path TEXT PRIMARY KEY,
  plugin TEXT NOT NULL,
  format TEXT NOT NULL,                 -- name of a Format
  project INTEGER REFERENCES project,
  head TEXT NOT NULL DEFAULT '',        -- HEAD of the work tree when the base was noted
  stamp TEXT NOT NULL DEFAULT '',       -- size, mtime, inode and HEAD before the last look whose edits were reported
  doubt TEXT CHECK(doubt IN ('busy', 'cut', 'missing', 'removed once')),
  doubt_of BLOB,                        -- digest of the leaves that are in doubt
  doubt_since REAL,
  changes INTEGER NOT NULL DEFAULT 0     -- how many were planned: a change that was decided before another one is decided again
) WITHOUT ROWID;

CREATE TABLE shared_leaf(               -- what tacitd wrote last, leaf by leaf: the base of a person's edits
  path TEXT NOT NULL REFERENCES shared_file ON DELETE CASCADE,
  leaf TEXT NOT NULL,                   -- text
  written TEXT NOT NULL,                -- text
  place INTEGER NOT NULL,               -- its order in the file, when it was written
  PRIMARY KEY(path, leaf)
) WITHOUT ROWID;

CREATE TABLE shared_seen(               -- what is in a file and not tacitd's, as it was reported to the plugin
  path TEXT NOT NULL REFERENCES shared_file ON DELETE CASCADE,
  leaf TEXT NOT NULL,                   -- text
  digest BLOB NOT NULL,                 -- 16 bytes: BLAKE2b of its value
  PRIMARY KEY(path, leaf)
) WITHOUT ROWID;

CREATE TABLE plan(                      -- a change of a file that is decided and not yet written
  path TEXT NOT NULL,
  leaf TEXT NOT NULL,                   -- text
  format TEXT NOT NULL,
  expected TEXT,                        -- text: NULL: absent
  put TEXT,                             -- text: NULL: to be removed
  change INTEGER NOT NULL REFERENCES change,
  process TEXT NOT NULL,                -- pid and start of the process that swaps the file
  place INTEGER NOT NULL,               -- its order in the decision
  theirs INTEGER NOT NULL DEFAULT 0,    -- whether it is a person's own then, and no part of the base
  listed INTEGER NOT NULL DEFAULT 1,    -- whether it is a part of the history
  PRIMARY KEY(path, leaf)
) WITHOUT ROWID;

CREATE TABLE line_plan(                 -- a line that is to be appended and is not yet
  number INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  line TEXT NOT NULL,                   -- text
  process TEXT NOT NULL
);

CREATE TABLE change(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,              -- short, as people type it
  key TEXT NOT NULL UNIQUE,             -- digest of the decision's key and path: a repeated task does not change twice
  at REAL NOT NULL,
  plugin TEXT NOT NULL,
  project INTEGER REFERENCES project,
  by TEXT NOT NULL CHECK(by IN ('prompt', 'person', 'agent', 'file', 'copy', 'tacitd')),  -- whose words or act it was
  cause TEXT NOT NULL DEFAULT '',       -- text: for a person, such as a command or a tool's name
  session TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL DEFAULT 'planned' CHECK(state IN ('planned', 'done')),
  undoes INTEGER REFERENCES change
);
CREATE INDEX change_undoes ON change(undoes) WHERE undoes IS NOT NULL;

CREATE TABLE change_line(
  change INTEGER NOT NULL REFERENCES change ON DELETE CASCADE,
  number INTEGER NOT NULL,
  path TEXT NOT NULL,
  leaf TEXT NOT NULL,                   -- text
  heading TEXT NOT NULL DEFAULT '',     -- text
  taken TEXT,                           -- text
  put TEXT,                             -- text
  PRIMARY KEY(change, number)
) WITHOUT ROWID;
CREATE INDEX change_line_path ON change_line(path);

CREATE TABLE change_prompt(             -- the prompts that a change rests on
  change INTEGER NOT NULL REFERENCES change ON DELETE CASCADE,
  prompt INTEGER NOT NULL REFERENCES prompt,
  PRIMARY KEY(change, prompt)
) WITHOUT ROWID;
CREATE INDEX change_prompt_prompt ON change_prompt(prompt);

-- What a person decided, what a session was shown, what status says ------------------------------------------------------

CREATE TABLE choice(                    -- each row is a line of choices.jsonl too, from which a fresh store is filled
  scope TEXT NOT NULL CHECK(scope IN ('all', 'project', 'session', 'text')),
  name TEXT NOT NULL,                   -- '', a root, a session's id, or the digest of a text that is never learned again (a root follows, if only there)
  what TEXT NOT NULL CHECK(what IN ('pause', 'exclude', 'share', 'local', 'trust', 'alias', 'never')),
  value TEXT NOT NULL DEFAULT '',       -- of an alias: the directory that sessions mean when they name `name`
  at REAL NOT NULL,
  PRIMARY KEY(scope, name, what)
) WITHOUT ROWID;

CREATE TABLE pause_span(                -- pauses that ended: what was typed in one and is read later is passed over too
  scope TEXT NOT NULL,
  name TEXT NOT NULL,
  since REAL NOT NULL,
  until REAL NOT NULL
);

CREATE TABLE shown(                     -- which text a session got
  session TEXT NOT NULL,
  name TEXT NOT NULL,                   -- of the section or the advice
  digest BLOB NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY(session, name)
) WITHOUT ROWID;

CREATE TABLE activity(
  number INTEGER PRIMARY KEY,
  at REAL NOT NULL,
  plugin TEXT NOT NULL,
  did TEXT NOT NULL,                    -- 'learned', 'refused', 'extracted', 'call'
  text TEXT NOT NULL,                   -- text: as it is in the file
  place TEXT NOT NULL DEFAULT '',
  about TEXT NOT NULL DEFAULT '',
  item TEXT NOT NULL DEFAULT '',
  root TEXT NOT NULL DEFAULT '',        -- of the project whose line it is
  gone INTEGER NOT NULL DEFAULT 0       -- whether what was learned was forgotten, undone or replaced since
);
CREATE INDEX activity_at ON activity(at);

CREATE TABLE degradation(
  owner TEXT NOT NULL,                  -- 'engine', 'plan' (`id`: the path that could not be written) or a plugin's name
  id TEXT NOT NULL,
  what TEXT NOT NULL,
  hint TEXT NOT NULL DEFAULT '',
  since REAL NOT NULL,
  PRIMARY KEY(owner, id, what)
) WITHOUT ROWID;

CREATE TABLE setting(                   -- the configuration in force, for commands; and what the engine keeps by a key
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL                   -- JSON
) WITHOUT ROWID;

INSERT INTO schema_version VALUES('engine', 1);
