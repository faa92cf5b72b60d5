import gzip
from pathlib import Path

import pytest

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.evaluation.halves import Half
from bestbefore.replay.evaluation.recorded import ORIGIN_S, UPDATES, recorded_cases
from bestbefore.replay.traces.errors import TraceError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two groups of updates, hourly and of too few objects, and two paired objects."""

    def write(name: str, lines: list[str]) -> None:
        with gzip.open(tmp_path / f"{name}.csv.gz", "wt") as file:
            file.write("\n".join(lines) + "\n")

    (tmp_path / "paired").mkdir()
    hours = [int(ORIGIN_S + i * HOUR_S) for i in range(-48 * 24, 0)]
    names = [f"g/{i}" for i in range(12)]
    write(UPDATES[0], ["object,time", *sorted((f"{name},{t}" for t in hours for name in names), key=_time)])
    for other in UPDATES[1:]:
        write(other, ["object,time", f"{other}/one,{hours[0]}"])
    write("paired/dev.updates", ["object,time", *(f"a,{int(ORIGIN_S + i * 9000)}" for i in range(99))])
    asked = [int(ORIGIN_S + i * 5000) for i in range(250)]
    write("paired/dev.requests", ["time,client,object", *(f"{t},x,{'ab'[t % 2]}" for t in asked)])
    (tmp_path / "paired/dev.objects.csv").write_text("object,class,update_source\na,mixed,g/1\nb,mixed,g/2\n")
    return tmp_path


def _time(line: str) -> int:
    return int(line.partition(",")[2])


def test_the_cases_are_the_paired_trace_its_other_pairings_and_groups_with_enough_objects(folder: Path) -> None:
    cases = recorded_cases(folder, Half.ALL, 2, pytest.fail)
    assert [case.name for case in cases] == ["as recorded", "pairing 1", "pairing 2", "g"]
    own, first, second, generated = cases
    assert own.requests is not None
    assert len(own.requests) == len(first.requests) == 250
    assert 15 * 24 - 24 <= len(first.updates.times_by_object()["a"]) <= 15 * 24
    assert first.updates.times_s[0] >= ORIGIN_S
    assert first.updates.times_s[-1] < ORIGIN_S + 15 * DAY_S
    assert list(first.updates.rows()) != list(second.updates.rows())
    assert len(generated.requests.objects) == 12


def test_only_a_half_of_the_sources_is_used(folder: Path) -> None:
    own, generated = (recorded_cases(folder, half, 0, pytest.fail) for half in (Half.REPORTING, Half.TUNING))
    names = [set(cases[-1].requests.objects) for cases in (own, generated)]
    assert names[0].isdisjoint(names[1])
    assert len(names[0] | names[1]) == 12


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "paired/dev.objects.csv").unlink()
    with pytest.raises(TraceError, match=r"dev.objects.csv: no such file"):
        recorded_cases(folder, Half.ALL, 0, pytest.fail)
