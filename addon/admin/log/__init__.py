"""The log of requests: its formats, its file, and the thread that writes it."""
