"""What is refreshed next, without a plan."""
