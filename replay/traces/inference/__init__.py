"""Access logs, and the inference of updates from them."""
