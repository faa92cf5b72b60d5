"""What of the store is in process, and how it is written to the backend."""
