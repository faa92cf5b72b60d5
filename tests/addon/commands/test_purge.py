import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

Left = Callable[[Path], tuple[list[str], list[str]]]
Run = Callable[..., tuple[int, str, str]]
A, B, OTHER = "http://www.example.org/a", "http://www.example.org/b", "https://example.net/a"


@pytest.mark.parametrize(("objects", "purged"), [
    (A, [A]),
    ("HTTP://WWW.Example.ORG:80/a#part", [A]),
    ("www.example.org", [A, B]),
    ("*.example.org/b*", [B]),
    ("http://WWW.example.org/*", [A, B]),
    ("*", [A, B, OTHER]),
    ("https://www.example.org/a", []),
    ("http://www.example.org/A", []),
])
def test_copies_are_removed_and_histories_stay(
    bestbefore: Run, filled: Path, left: Left, objects: str, purged: list[str]
) -> None:
    status, out, err = bestbefore("purge", objects, "--state", filled)
    assert (status, err) == (0, "")
    assert out == f"purged the copies of {len(purged)} object{'' if len(purged) == 1 else 's'}\n"
    assert left(filled) == ([url for url in (A, B, OTHER) if url not in purged], [A, B, OTHER])


def test_a_dry_run_lists_what_would_be_purged(bestbefore: Run, filled: Path, left: Left) -> None:
    listed = f"{A}\n{B}\nwould purge the copies of 2 objects\n"
    assert bestbefore("purge", "--dry-run", "*.example.org", "--state", filled) == (0, listed, "")
    status, out, _ = bestbefore("purge", "--dry-run", "--json", A, "--state", filled)
    assert (status, json.loads(out)) == (0, {"would_purge": 1, "urls": [A]})
    assert left(filled)[0] == [A, B, OTHER]
    assert bestbefore("purge", "--json", "*.org", "--state", filled)[1] == '{"purged": 2}\n'


def test_the_store_may_be_a_redis_and_named_by_the_configuration(
    bestbefore: Run, valkey: object, tmp_path: Path
) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text(f'[proxy]\nstore = "{valkey.url}"\n')  # type: ignore[attr-defined]
    assert bestbefore("purge", "*", "--config", config) == (0, "purged the copies of 0 objects\n", "")
