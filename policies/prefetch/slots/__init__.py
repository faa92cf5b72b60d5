"""Slots: which crawler makes which contact in which slot."""
