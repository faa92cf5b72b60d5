"""The backends of the store: Redis or Valkey, files, and memory for tests."""
