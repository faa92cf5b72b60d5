"""Responses without validator: the evidence on them, and the decision on storing them."""
