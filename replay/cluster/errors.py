"""The error of a cluster that cannot do the work."""


class ClusterError(Exception):
    """An error of the scheduler or of a worker; its text is one line with the address."""
