-- What the two files do not say. Counts are not stored: they follow from the ledger. Stamps are local, `YYYY-MM-DDTHH:MM`.

CREATE TABLE learner_session(
  session TEXT PRIMARY KEY,
  stamp TEXT NOT NULL DEFAULT '',       -- the one of all its writes; '' until the first
  teaches INTEGER NOT NULL DEFAULT 0,   -- whether it used the skill
  root TEXT NOT NULL DEFAULT '',        -- the project in which it taught
  first_start INTEGER NOT NULL DEFAULT 0  -- whether it was the first session of all
);

CREATE TABLE learner_found(id TEXT PRIMARY KEY);  -- digests of the reports in transcripts: a fork copies them

CREATE TABLE learner_report(            -- the ledger's rows that were reported, or that are in the profile
  number INTEGER PRIMARY KEY,
  row TEXT NOT NULL UNIQUE,             -- text: its line of the ledger
  tested TEXT,                          -- text: JSON, the tags that were tested; NULL if they were not named
  observations TEXT NOT NULL,           -- text: until it is in the profile
  descriptions TEXT NOT NULL,           -- text: JSON, of new gaps by tag, until it is in the profile
  done INTEGER NOT NULL DEFAULT 0       -- whether it is in the profile
);

CREATE TABLE learner_tag(               -- what was decided about a gap
  tag TEXT PRIMARY KEY,
  label TEXT NOT NULL,                  -- text: of its entry, if that is not the tag
  removed INTEGER NOT NULL,             -- whether a person removed its entry: it is not written again
  waits INTEGER NOT NULL,               -- whether it waits for room, in the order of the table
  description TEXT NOT NULL             -- text: of its entry, also while it has none
);

CREATE TABLE learner_notice(
  text TEXT PRIMARY KEY,                -- text: a line for the next session's start
  shown_in TEXT                         -- the session that got it; it is forgotten when the next one begins
);

CREATE TABLE learner_compared(stamps TEXT NOT NULL);  -- one row: those of both files, when nothing was missing
