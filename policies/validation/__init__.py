"""When a copy expires: one file a policy, listed in table.py."""
