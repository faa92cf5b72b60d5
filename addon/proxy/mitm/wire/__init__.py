"""Hits answered from the bytes that a client sends, past the messages, streams and events of mitmproxy."""
