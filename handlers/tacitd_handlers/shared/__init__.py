"""Pure rules that several handlers use. A module here knows no handler, no clock, no disk and no model."""
