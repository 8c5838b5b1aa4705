"""Rules that several plugins share: pure functions without clock, disk or model. A rule of one plugin belongs there."""
