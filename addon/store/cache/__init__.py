"""The part of the store in process, and the write-behind to the backend."""
