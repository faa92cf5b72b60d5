"""Where the traces are."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of the recorded traces."""
    folder = os.environ.get("BESTBEFORE_TRACES")
    if folder:
        return Path(folder)
    reason = "BESTBEFORE_TRACES is not set to the folder of the recorded traces"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the small excerpts that belong to the tests."""
    return Path(__file__).parent.parent / "data"


@pytest.fixture(scope="session")
def golden() -> Path:
    """The folder of pinned counts."""
    return Path(__file__).parent.parent / "golden"
