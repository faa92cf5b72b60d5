"""What runs."""

from importlib.metadata import version
from pathlib import Path

from prometheus_client import CollectorRegistry

from bestbefore.addon.admin.process.metrics import register_process


def test_the_version_and_the_memory_and_descriptors_of_this_process_are_there():
    registry = CollectorRegistry()
    register_process(registry)
    samples = {sample.name: sample for family in registry.collect() for sample in family.samples}
    assert samples["bestbefore_build_info"].labels["version"] == version("bestbefore")
    if Path("/proc/self/fd").is_dir():
        assert samples["process_open_fds"].value > 2
        assert samples["process_resident_memory_bytes"].value > 1e6
