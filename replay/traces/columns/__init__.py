"""A trace in memory and in files of our own: columns of numbers and names."""
