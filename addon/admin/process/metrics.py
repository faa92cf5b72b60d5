"""What runs: the version, and what the process takes of the machine, under the names that Prometheus' clients share."""

import platform
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector


def register_process(registry: CollectorRegistry) -> None:
    """Add `bestbefore_build_info`, and `process_*` where the system has /proc, to a registry."""
    labels = ["version", "python"]
    build = Gauge("bestbefore_build_info", "The versions of bestbefore and Python.", labels, registry=registry)
    build.labels(version("bestbefore"), platform.python_version()).set(1)
    ProcessCollector(registry=registry)
