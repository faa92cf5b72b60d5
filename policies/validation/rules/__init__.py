"""The rules that learn from update histories, one file each."""
