"""The protocol of Redis and Valkey (RESP2) on a connection whose commands are pipelined."""
