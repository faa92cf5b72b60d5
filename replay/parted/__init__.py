"""Traces in parts: a folder of Parquet files, each with all events of some objects, and the replay of its parts."""
