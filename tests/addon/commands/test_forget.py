from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

Left = Callable[[Path], tuple[list[str], list[str]]]
Run = Callable[..., tuple[int, str, str]]
A, B, OTHER = "http://www.example.org/a", "http://www.example.org/b", "https://example.net/a"


@pytest.mark.parametrize(("objects", "forgotten"), [(A, [A]), ("*.example.org", [A, B]), ("example.com", [])])
def test_copies_and_histories_are_removed(
    bestbefore: Run, filled: Path, left: Left, objects: str, forgotten: list[str]
) -> None:
    status, out, err = bestbefore("forget", objects, "--state", filled)
    assert (status, err) == (0, "")
    assert out == f"forgot {len(forgotten)} object{'' if len(forgotten) == 1 else 's'}\n"
    rest = [url for url in (A, B, OTHER) if url not in forgotten]
    assert left(filled) == (rest, rest)
