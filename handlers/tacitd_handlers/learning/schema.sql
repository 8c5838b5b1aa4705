-- What was heard, and the lines that tacitd wrote. A project is a row of `project`; NULL: what holds for the person everywhere, whose
-- file is ~/.agents/LEARNED.md. The lines that people write are in their files alone.
CREATE TABLE learning_fact(
  number INTEGER PRIMARY KEY,
  project INTEGER REFERENCES project,   -- NULL: about the person
  session TEXT NOT NULL DEFAULT '',
  prompt INTEGER REFERENCES prompt,     -- that it was heard in; NULL: a line that another program appended to the raw file
  heard_in INTEGER REFERENCES project,  -- the project in which it was said, also of what is about the person
  said_at REAL NOT NULL,
  text TEXT NOT NULL,                   -- text
  words TEXT NOT NULL DEFAULT '',       -- text: the sentence that it rests on
  same TEXT NOT NULL,                   -- digest of what it says: equal for texts that say the same (shared/equality)
  corrected INTEGER NOT NULL DEFAULT 0, -- whether the person corrected what the assistant did or said
  line INTEGER REFERENCES learning_line,-- the known line that it repeats
  state TEXT NOT NULL CHECK(state IN ('waiting', 'written', 'known', 'left out', 'review', 'refused', 'aside', 'forgotten')),
  -- waiting: for a synthesis. written: in a line. known: a document says it. left out: the synthesis made no line of it, it was said too seldom.
  -- review: a person decides (`tacitd review`). refused: listed for 90 days. aside: no answer fits, `tacitd rescue` lists it
  reason TEXT NOT NULL DEFAULT '',
  tries INTEGER NOT NULL DEFAULT 0      -- answers about it that could not be used
);
CREATE INDEX learning_fact_project ON learning_fact(project, state);
CREATE INDEX learning_fact_line ON learning_fact(line) WHERE line IS NOT NULL;
CREATE INDEX learning_fact_same ON learning_fact(same);

CREATE TABLE learning_line(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,              -- eight hexadecimal digits, as people type it
  project INTEGER REFERENCES project,   -- NULL: the person's
  path TEXT NOT NULL,                   -- of its source: a LEARNED.md or AGENTS.md, absolute
  heading TEXT NOT NULL DEFAULT '',     -- text
  text TEXT NOT NULL,                   -- text
  same TEXT NOT NULL,                   -- as in learning_fact
  by TEXT NOT NULL DEFAULT 'tacitd' CHECK(by IN ('tacitd', 'person')),  -- person: they reworded it, and it is theirs for good
  state TEXT NOT NULL CHECK(state IN ('present', 'removed', 'gone', 'replaced', 'forgotten', 'withheld')),
  -- removed: by the person. gone: by git. withheld: said again after the person removed it
  written_at REAL NOT NULL,
  said INTEGER NOT NULL DEFAULT 1,      -- distinct messages that say it, since it was contradicted last
  last_said REAL NOT NULL,
  corrections INTEGER NOT NULL DEFAULT 0,
  corrected_since TEXT NOT NULL DEFAULT '[]',  -- JSON: times of the corrections that came although it was written
  reworded INTEGER NOT NULL DEFAULT 0,  -- whether it was made a rule after a second correction
  replaced_by INTEGER REFERENCES learning_line,
  contrary TEXT NOT NULL DEFAULT '',    -- text: a person's line that says the opposite, about which they decide
  kept_at REAL                          -- when the person last said that it stays
);
CREATE INDEX learning_line_project ON learning_line(project, state);
CREATE INDEX learning_line_path ON learning_line(path, state);
CREATE INDEX learning_line_same ON learning_line(same);

CREATE TABLE learning_line_fact(
  line INTEGER NOT NULL REFERENCES learning_line ON DELETE CASCADE,
  fact INTEGER NOT NULL REFERENCES learning_fact ON DELETE CASCADE,
  PRIMARY KEY(line, fact)
) WITHOUT ROWID;

CREATE TABLE learning_folder(           -- where a session's tools read and wrote; relative paths are below `cwd`
  session TEXT NOT NULL,
  cwd TEXT NOT NULL,
  folder TEXT NOT NULL,
  uses INTEGER NOT NULL,
  PRIMARY KEY(session, cwd, folder)
) WITHOUT ROWID;

CREATE TABLE learning_distilled(        -- the model's summary of a directive, by the digest of its text
  digest TEXT PRIMARY KEY,
  text TEXT NOT NULL,                   -- text
  at REAL NOT NULL
) WITHOUT ROWID;
