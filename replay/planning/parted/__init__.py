"""Plans of objects in parts, each a Parquet file, which need not be in memory together."""
