CREATE TABLE reminders_line(
  number INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  text TEXT NOT NULL,                   -- text
  state TEXT NOT NULL,                  -- 'open', 'dropped', 'theirs', 'asked'
  words TEXT NOT NULL DEFAULT '',       -- text: of the person, from which it came
  UNIQUE(project, text)
);
CREATE TABLE reminders_event(kind TEXT NOT NULL, about TEXT NOT NULL);
CREATE TABLE reminders_seen(session TEXT PRIMARY KEY, records INTEGER NOT NULL) WITHOUT ROWID;
