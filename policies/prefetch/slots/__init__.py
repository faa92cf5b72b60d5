"""By which crawler in which slot."""
