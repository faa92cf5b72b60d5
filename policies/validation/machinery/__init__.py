"""The machinery of all policies: features, decisions, bounds, the fallback at the start, and SPEC."""
