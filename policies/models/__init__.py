"""Models of how an object changes: its update history, and the rates, patterns and laws estimated from it."""
