"""Models of an object: its update history and what follows from it."""
