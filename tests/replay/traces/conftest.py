"""Writing a trace and reading it back."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.inference.accesses import Accesses
from bestbefore.replay.traces.reading import Reading, read_trace

Read = Callable[..., Reading]
Row = tuple[float, str, str, int, int]
"""Time, client, object, status, size."""


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read content as a file of the format named (None: recognised)."""

    def read(content: bytes, format_: str | None, name: str = "trace") -> Reading:
        path = tmp_path / name
        path.write_bytes(content)
        return read_trace(path, format_)

    return read


@pytest.fixture
def error_of(tmp_path: Path, read: Read) -> Callable[..., str]:
    """The one line that says why content cannot be read, without the path."""

    def error_of(content: bytes, format_: str | None, name: str = "trace") -> str:
        with pytest.raises(TraceError) as error:
            read(content, format_, name)
        path, _, wrong = str(error.value).partition(": ")
        assert path == str(tmp_path / name)
        assert "\n" not in wrong
        return wrong.replace(f"{path}: ", "")

    return error_of


@pytest.fixture
def rows() -> Callable[[Reading], list[Row]]:
    """What was read of requests."""

    def rows(reading: Reading) -> list[Row]:
        trace = reading.trace
        assert isinstance(trace, Accesses)
        return [
            (*row, status, size)
            for row, status, size in zip(
                trace.requests.rows(), trace.statuses.tolist(), trace.sizes_bytes.tolist(), strict=True
            )
        ]

    return rows
