"""The exchange: one request, from the decision to its answer."""
