"""What is done for feeds on their way: they are read, and shortened for readers that ask so."""
