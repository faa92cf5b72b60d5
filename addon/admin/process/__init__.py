"""What the process takes of the machine."""
