"""What a store and a configuration say of objects, as plain values, for commands and the dashboard."""
