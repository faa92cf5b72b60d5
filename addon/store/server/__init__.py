"""The embedded Valkey server and the state directory."""
