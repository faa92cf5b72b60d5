"""The exchange: one request, from the decision to the answer."""
