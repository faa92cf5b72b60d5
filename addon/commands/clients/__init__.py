"""What clients of a proxy need: its address, its certificate, and the variables by which programs find both."""
