"""What the memory of a connection is bounded by, and how it is free when the connection has ended."""
