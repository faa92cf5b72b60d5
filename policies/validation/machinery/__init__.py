"""What every policy is made with: features, decisions, bounds, the fallback at the start, and SPEC."""
