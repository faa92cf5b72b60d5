"""The rules that learn from update histories: one file a rule."""
