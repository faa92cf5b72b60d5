"""Signals: what origins say of changes of their objects, without a contact for each, and how much it is believed."""
