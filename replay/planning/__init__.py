"""A plan of refreshes: what is known of the objects, how often and when each is contacted, and what that gives."""
