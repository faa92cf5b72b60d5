"""Prefetching: refreshes copies before they are requested, by a plan, within politeness and budget."""
