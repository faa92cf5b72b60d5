"""What rules are measured against: bounds, a policy that knows the future, and the rules of programs in use."""
