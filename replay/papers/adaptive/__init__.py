"""Bright, Gal, Raschid, "Adaptive pull-based data freshness policies for diverse update patterns", on our traces."""
