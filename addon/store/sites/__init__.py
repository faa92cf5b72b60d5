"""Sites: which objects of a registrable domain change together, shared by all processes of a store."""
