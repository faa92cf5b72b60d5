from pathlib import Path

import pytest

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.sweeps.finished_points import FinishedPoints

TTL, INDTTL = parse_spec("ttl:alpha=0.2"), parse_spec("indttl:threshold=inf,fallback=ttl+group")
COUNTS = [{"hits": 3, "mean_delay_s": 0.1 + 0.2}, {"domain": "x", "hits": 1, "mean_delay_s": None}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "finished.jsonl"


def test_what_was_kept_is_known_again_exactly(path: Path) -> None:
    FinishedPoints(path, "a").add(TTL, COUNTS)
    FinishedPoints(path, "a").add(INDTTL, [{"hits": 4}])
    again = FinishedPoints(path, "a")
    assert again.get(TTL) == COUNTS
    assert again.get(INDTTL) == [{"hits": 4}]


def test_only_the_same_policy_of_the_same_replay_is_known(path: Path) -> None:
    kept = FinishedPoints(path, "a")
    kept.add(TTL, COUNTS)
    assert kept.get(TTL) == COUNTS
    assert kept.get(parse_spec("ttl:alpha=0.3")) is None
    assert kept.get(parse_spec("ttl:alpha=0.2,max_ttl=1d")) is None
    assert FinishedPoints(path, "b").get(TTL) is None


def test_a_line_cut_short_loses_that_point_alone(path: Path) -> None:
    kept = FinishedPoints(path, "a")
    kept.add(TTL, COUNTS)
    kept.add(INDTTL, COUNTS)
    path.write_text(path.read_text()[:-9])
    cut = FinishedPoints(path, "a")
    assert cut.get(TTL) == COUNTS
    assert cut.get(INDTTL) is None
    cut.add(INDTTL, COUNTS)
    whole = FinishedPoints(path, "a")
    assert (whole.get(TTL), whole.get(INDTTL)) == (COUNTS, COUNTS)


@pytest.mark.parametrize("line", [b"", b"null", b"[]", b"{}", b'{"replay": "a", "policy": []}', b"\0\0", b"\xff\xfe"])
def test_what_is_no_point_is_passed_over(path: Path, line: bytes) -> None:
    path.write_bytes(line + b"\n")
    FinishedPoints(path, "a").add(TTL, COUNTS)
    assert FinishedPoints(path, "a").get(TTL) == COUNTS


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_an_error_that_names_the_file(path: Path) -> None:
    finished = FinishedPoints(path, "a")
    path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        finished.add(TTL, COUNTS)
    assert caught.value.filename == str(path)
