"""The handling of feeds: they are read, and shortened for readers that ask for it."""
