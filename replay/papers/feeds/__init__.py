"""Sia, Cho, Cho, "Efficient monitoring algorithm for fast news alerts": its examples, tables and figures."""
