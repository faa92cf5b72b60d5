"""One request, from the decision to its answer."""
