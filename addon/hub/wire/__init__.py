"""The channel itself: its messages, signatures and subscriptions, and the server that keeps them."""
