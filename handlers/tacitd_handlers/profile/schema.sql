-- Values that an agent wants to set and that wait until the person accepts them.
CREATE TABLE profile_waiting(
  id TEXT PRIMARY KEY,
  path TEXT NOT NULL,                   -- text
  value TEXT NOT NULL,                  -- text: JSON: a text or a list of texts
  reason TEXT NOT NULL,
  at REAL NOT NULL
) WITHOUT ROWID;
