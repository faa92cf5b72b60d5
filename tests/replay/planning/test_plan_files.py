import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest

from bestbefore.policies.models.renewal.laws import Weibull
from bestbefore.replay.planning import ids
from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.moments import Crawls, Moments
from bestbefore.replay.planning.objects import Law, PlannedObjects
from bestbefore.replay.planning.plan import Aim, ContactPlan
from bestbefore.replay.planning.plan_files import Write, json_parts, write_csv, write_slots, write_whole
from bestbefore.replay.planning.slotted import slotted
from bestbefore.replay.sweeps.progress import Watch


def plan(objective: str = "freshness", *, discrete: bool = False, laws: dict[int, Law] | None = None) -> ContactPlan:
    """Of three objects one never changes, and one is given up."""
    objects = PlannedObjects(
        Ids.of(['a "b"', "ü,c", "d"]), np.array([1.0, 4.0, 0.0]), np.array([1.0, 2.0, 1.0]), laws=laws or {}
    )
    return ContactPlan(objects, Aim(objective, 2.0, 100.0, discrete), np.array([2.0, 0.0, 0.0]))


def table(some: ContactPlan) -> list[dict[str, str]]:
    text = StringIO()
    write_csv(some, Moments.spaced(some), text)
    return list(csv.DictReader(StringIO(text.getvalue())))


def test_the_json_is_the_objective_and_the_rates() -> None:
    """sum(w F) / sum(w): (1 * F(r = 1/2) + 2 * 0 + 1 * 1) / 4."""
    told = json.loads("".join(json_parts(plan())))
    assert list(told) == ["objective", "rates"]
    assert told["objective"] == pytest.approx((2.0 * (1.0 - np.exp(-0.5)) + 1.0) / 4.0)
    assert told["rates"] == {'a "b"': 2.0, "ü,c": 0.0, "d": 0.0}


def test_whole_numbers_are_visits() -> None:
    text = "".join(json_parts(plan(discrete=True)))
    assert json.loads(text)["visits"] == {'a "b"': 2, "ü,c": 0, "d": 0}
    assert text.endswith('0, "d": 0}}\n')


def test_an_endless_age_is_null() -> None:
    assert json.loads("".join(json_parts(plan("age"))))["objective"] is None


def test_json_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = "".join(json_parts(plan()))
    monkeypatch.setattr(ids, "PART", 2)
    assert "".join(json_parts(plan())) == whole


def test_a_row_for_each_object_says_what_it_has() -> None:
    first, given_up, unchanging = table(plan())
    assert list(first) == [
        "id", "rate", "weight", "frequency", "interval_s", "freshness", "age_s", "delay_s", "first_s", "next_s",
    ]
    assert (first["id"], first["rate"], first["frequency"], first["interval_s"]) == ('a "b"', "1", "2", "50")
    assert float(first["freshness"]) == pytest.approx(2.0 * (1.0 - np.exp(-0.5)))
    assert float(first["delay_s"]) == 25.0
    assert float(first["next_s"]) - float(first["first_s"]) == pytest.approx(50.0)
    assert {given_up[name] for name in ("interval_s", "age_s", "delay_s", "first_s", "next_s")} == {""}
    assert (given_up["freshness"], unchanging["freshness"], unchanging["age_s"]) == ("0", "1", "0")


def test_laws_have_columns_where_there_are_any() -> None:
    first, second, _ = table(plan(discrete=True, laws={0: Weibull(2.0, 1.1)}))
    assert (first["model"], first["shape"], first["visits"]) == ("weibull", "2", "2")
    assert (second["model"], second["shape"]) == ("poisson", "")


def test_a_row_for_each_contact_says_who_makes_it() -> None:
    crawls = Crawls(np.array([0, 1]), np.array([10.0, 10.5]), np.array([False, False]))
    text, ids = StringIO(), Ids.of(["a", "b"])
    write_slots(slotted(crawls, ids, [4], 40.0), ids, text)
    assert text.getvalue() == "id,crawler,slot,start_s,ideal_s\na,0,1,10.0,10.0\nb,0,2,20.0,10.5\n"


def test_progress_is_shown_while_a_plan_is_written() -> None:
    crawls = Crawls(np.array([0, 1]), np.array([10.0, 10.5]), np.array([False, False]))
    ids = Ids.of(["a", "b"])
    seen: list[tuple[str, int, int]] = []

    @contextmanager
    def bar(what: str, total: int) -> Iterator[Watch]:
        passed: list[object] = []

        def watch(items: Iterator[object]) -> Iterator[object]:
            for item in items:
                passed.append(item)
                yield item

        yield watch
        seen.append((what, total, len(passed)))

    some = plan()
    write_csv(some, Moments.spaced(some), StringIO(), bar)
    assert list(json_parts(some, bar))
    write_slots(slotted(crawls, ids, [4], 40.0), ids, StringIO(), bar)
    assert seen == [("writing", 1, 1), ("writing", 1, 1), ("writing slots", 2, 2)]


def rows(text: str) -> Write:
    """What writes these lines."""
    return lambda file: file.writelines([text])


def test_files_are_written_whole(tmp_path: Path) -> None:
    write_whole({tmp_path / "a": rows("x,y\n1,ü\n"), tmp_path / "b": rows("b")})
    assert (tmp_path / "a").read_bytes() == "x,y\n1,ü\n".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_no_file_is_written_if_one_cannot_be(tmp_path: Path, error: type[BaseException]) -> None:
    (tmp_path / "a").write_text("as before")

    def fail(_file: TextIO) -> None:
        raise error

    with pytest.raises(error):
        write_whole({tmp_path / "a": rows("new"), tmp_path / "b": fail})
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "as before")]


def test_no_file_is_written_if_a_folder_has_the_name_of_one(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        write_whole({tmp_path / "a": rows("x"), tmp_path / "b": rows("x")})
    assert raised.value.filename == str(tmp_path / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("a")
    write_whole({tmp_path / "link": rows("x")})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a").read_text() == "x"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_found_before_any_file_takes_its_name(tmp_path: Path) -> None:
    """The second file's last characters are refused when the first, complete, is not yet there."""
    with pytest.raises(OSError, match="No space left") as raised:
        write_whole({tmp_path / "a": rows("x"), Path("/dev/full"): rows("x")})
    assert raised.value.filename == "/dev/full"
    assert list(tmp_path.iterdir()) == []
