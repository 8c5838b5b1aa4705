-- The tables of reach: version 1.

CREATE TABLE reach_rule(                -- a line of tacitd's in the person's rules file
  leaf TEXT PRIMARY KEY,                -- text: as the file's format names it
  source TEXT NOT NULL,                 -- the heading, which is the title of the rules that it is one of
  id TEXT NOT NULL,                     -- text: the rule's id there
  by_person INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE reach_file(                -- one row: the person's rules file
  path TEXT PRIMARY KEY,
  state TEXT NOT NULL,                  -- see `report_status`
  left_out INTEGER NOT NULL DEFAULT 0,  -- rules that do not fit
  written REAL,                         -- when its lines were changed last
  stamp TEXT NOT NULL DEFAULT ''        -- of the files that the rules are made from and of the hour, when it was compared last
) WITHOUT ROWID;
