"""The rules of the learner as pure functions: no clock, no disk, no model."""
