"""Signals in the proxy: sitemaps that pass, and what follows from the signals of any origin."""
