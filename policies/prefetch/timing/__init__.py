"""The timing of visits within a period."""
