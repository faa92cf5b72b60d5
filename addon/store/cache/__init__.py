"""The part of the store in process, and how it is written to the backend."""
