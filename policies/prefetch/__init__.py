"""How often, when and in which slot objects are refreshed that nobody has asked for: table.py names the objectives."""
