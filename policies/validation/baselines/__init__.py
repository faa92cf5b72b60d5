"""Baselines for comparison: bounds, a policy that knows the future, and the rules of crawlers and feed readers."""
