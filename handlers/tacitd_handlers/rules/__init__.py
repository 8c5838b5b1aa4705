"""Rules that several systems share: pure functions, no clock, no disk, no model. Nothing of a single system belongs here."""
