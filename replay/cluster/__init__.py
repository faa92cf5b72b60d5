"""Work spread over the processes or machines of a Dask cluster, with the optional dependency `dask`."""
