"""Discrete allocation: whole numbers of visits in a period."""
