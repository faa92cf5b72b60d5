"""Plans of contacts: the objects, the contacts of each per period and their times, and the expected results."""
