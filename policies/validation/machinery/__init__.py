"""The parts that all policies share: features, decisions, bounds, the fallback for new objects, and SPEC."""
