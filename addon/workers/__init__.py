"""Several processes that serve one address, and the one that supervises them."""
