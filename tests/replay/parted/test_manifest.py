from pathlib import Path

import pytest

from bestbefore.replay.parted.manifest import MANIFEST, PartedTrace, TracePart
from bestbefore.replay.traces.errors import TraceError


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    parts = (TracePart("0.u", "0.r", 2, 3, "ab"), TracePart("1.u", "1.r", 0, 4, "cd"))
    trace = PartedTrace(tmp_path, "domain", 1.5, 9.0, parts)
    trace.write()
    assert PartedTrace.read(tmp_path) == trace
    assert (trace.updates, trace.requests) == (2, 7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file: expected one, from bestbefore convert --parts N"),
        ("{", "not the manifest of a trace in parts: Expecting property name"),
        ('{"version": 2}', "version 2: expected 1; convert the trace once more"),
        ('{"version": 1, "parts": [{}]}', "not the manifest of a trace in parts: "),
    ],
)
def test_what_is_no_manifest_is_named(text: str | None, said: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(TraceError) as refused:
        PartedTrace.read(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / MANIFEST}: {said}")
