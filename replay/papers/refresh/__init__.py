"""Cho, Garcia-Molina, "Effective page refresh policies for Web crawlers": its tables and figures."""
