"""Online refreshing, without a plan: which object is next."""
