-- Where lessons came from. The log has the seed's keys alone, and people share it; so what a person typed is here. A lesson may
-- have no row: in an agent's sandbox the store cannot be written.
CREATE TABLE lessons_origin(
  directory TEXT NOT NULL,              -- of lessons.jsonl
  lesson INTEGER NOT NULL,              -- its number
  session TEXT NOT NULL,
  at REAL NOT NULL,
  root TEXT NOT NULL,                   -- of the project
  prompts TEXT NOT NULL,                -- JSON: ids of the prompts' records
  words TEXT NOT NULL,                  -- text: JSON
  lines TEXT NOT NULL,                  -- text: JSON
  PRIMARY KEY(directory, lesson)
) WITHOUT ROWID;
