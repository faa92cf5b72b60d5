"""The inputs of a plan: objects from a file or from a trace, contacts made before, and closed slots."""
