"""The receiver's side: what a release means, in words and as values, and what can be computed from it honestly."""
