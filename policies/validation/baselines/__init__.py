"""Baselines, which rules are compared with: bounds, a policy that knows the future, the rules of programs in use."""
