"""The times of visits within a period."""
