"""Refreshes copies before they are asked for: what may be fetched, the plan, and the fetches, with politeness first."""
