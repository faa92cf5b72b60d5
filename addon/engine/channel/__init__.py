"""What a hub may send on its channel, and which copies an edge may take for current. Pure."""
