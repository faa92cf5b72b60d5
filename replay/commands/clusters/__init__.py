"""The option of commands for a Dask cluster."""
