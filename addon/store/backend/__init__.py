"""Where the store keeps what outlives the process: Redis or Valkey, files, and memory for tests."""
