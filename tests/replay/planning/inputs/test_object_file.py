import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from bestbefore.policies.models.renewal.laws import Pareto, Weibull
from bestbefore.policies.prefetch.timing.quasideterministic import PotentialUpdates
from bestbefore.replay.planning.inputs import object_file
from bestbefore.replay.planning.inputs.object_file import read_objects
from bestbefore.replay.planning.objects import PlannedObjects
from bestbefore.replay.traces.errors import TraceError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "o.csv"


def read(path: Path, text: str) -> PlannedObjects:
    path.write_text(text, newline="")
    return read_objects(path)


def names(objects: PlannedObjects) -> list[str]:
    return [name for _, part in objects.ids.parts() for name in part]


def test_an_id_and_a_rate_are_enough(path: Path) -> None:
    objects = read(path, "id,rate\na,1.5\nb,0\n")
    assert (names(objects), objects.rates.tolist(), objects.weights.tolist()) == (["a", "b"], [1.5, 0.0], [1.0, 1.0])
    assert objects.minimum is objects.maximum is None
    assert not objects.laws
    assert objects.lines is not None
    assert objects.lines.tolist() == [2, 3]


def test_columns_stand_in_any_order_and_others_are_passed_over(path: Path) -> None:
    objects = read(path, "\ufeffmax, rate ,title,id,min,weight\r\n9,1,x,a,2,0.5\r\n")
    assert (names(objects), objects.rates.tolist(), objects.weights.tolist()) == (["a"], [1.0], [0.5])
    assert [bound.tolist() for bound in objects.bounds()] == [[2.0], [9.0]]


def test_an_optional_value_may_be_left_out(path: Path) -> None:
    objects = read(path, "id,rate,weight,min,max,model,shape\na,1,,,,,\nb,1,2,1,3,poisson,\n")
    assert objects.weights.tolist() == [1.0, 2.0]
    assert [bound.tolist() for bound in objects.bounds()] == [[0.0, 1.0], [math.inf, 3.0]]
    assert not objects.laws


def test_ids_are_any_text_and_rows_have_lines(path: Path) -> None:
    objects = read(path, 'id,rate\nü,1\n\n"a\nb",2\n"c,d",3\n')
    assert names(objects) == ["ü", "a\nb", "c,d"]
    assert objects.lines is not None
    assert objects.lines.tolist() == [2, 4, 6]


def test_a_file_may_be_gzip(path: Path) -> None:
    path.write_bytes(gzip.compress(b"id,rate\na,1\n"))
    assert names(read_objects(path)) == ["a"]


def test_models_become_laws_with_the_rate(path: Path) -> None:
    text = "id,rate,model,shape\na,2,weibull,0.5\nb,3,,\nc,4,pareto,3\nd,6,quasi-deterministic,24\ne,0,weibull,2\n"
    laws = read(path, text).laws
    assert sorted(laws) == [0, 2, 3]
    weibull, pareto, potential = laws[0], laws[2], laws[3]
    assert isinstance(weibull, Weibull)
    assert isinstance(pareto, Pareto)
    assert isinstance(potential, PotentialUpdates)
    assert (1 / weibull.mean, 1 / pareto.mean) == (pytest.approx(2.0), pytest.approx(4.0))
    assert potential.probabilities.tolist() == [0.25] * 24


def test_parts_are_put_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_file, "ROWS_AT_ONCE", 2)
    text = "id,rate,weight\na,1,1\nb,2,2\n\nc,3,\nd,4,4\ne,5,5\n"
    objects = read(path, text)
    assert (names(objects), objects.rates.tolist()) == (list("abcde"), [1.0, 2.0, 3.0, 4.0, 5.0])
    assert objects.weights.tolist() == [1.0, 2.0, 1.0, 4.0, 5.0]
    assert objects.lines is not None
    assert objects.lines.tolist() == [2, 3, 5, 6, 7]


def test_rows_read_quickly_and_one_by_one_are_the_same(path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [f"o{i},{a!r},{b!r}" for i, (a, b) in enumerate(rng.lognormal(0, 5, (200, 2)).tolist())]
    quick = read(path, "\n".join(["id,rate,weight", *rows, ""]))
    slow = read(path, "\n".join(["id,rate,weight,model", *(f"{row}," for row in rows), ""]))
    assert quick.rates.tolist() == slow.rates.tolist()
    assert quick.weights.tolist() == slow.weights.tolist()
    assert names(quick) == names(slow)
    assert quick.lines is not None
    assert slow.lines is not None
    assert quick.lines.tolist() == slow.lines.tolist()


@pytest.mark.parametrize(("text", "wrong"), [
    ("", "line 1: no header: expected id,rate and perhaps weight,min,max,model,shape"),
    ("id,rate\n", "line 2: no object, expected a row id,rate for each"),
    ("id,weight\na,1\n", "line 1: no column 'rate' in 'id,weight': expected id,rate and perhaps"),
    ("id,rate,rate\na,1,1\n", "line 1: the column 'rate' twice in 'id,rate,rate'"),
    ("id,rate\na,1\nb,-1\n", "line 3: rate '-1': expected a finite number from 0 up"),
    ("id,rate\na,nan\n", "line 2: rate 'nan': expected a finite number from 0 up"),
    ("id,rate\na,inf\n", "line 2: rate 'inf': expected"),
    ("id,rate\na,\n", "line 2: rate '': expected"),
    ("id,rate\na,1_000\n", "line 2: rate '1_000': expected"),
    ("id,rate\na,many\n", "line 2: rate 'many': expected"),
    ("id,rate,weight\na,1,-2\n", "line 2: weight '-2': expected a finite number from 0 up or nothing"),
    ("id,rate,weight\na,1,nan\n", "line 2: weight 'nan': expected"),
    ("id,rate,weight\na,1,inf\n", "line 2: weight 'inf': expected"),
    ("id,rate,max\na,1,inf\n", "line 2: max 'inf': expected a finite number from 0 up or nothing"),
    ("id,rate,min,max\na,1,0,1\nb,1,3,2\n", "line 3: min 3 above max 2: expected no more than max"),
    ("id,rate\na,1\nb,2\na,3\n", "line 4: id 'a': expected each id once, and line 2 has it"),
    ("id,rate\n,1\n", "line 2: id '': expected text"),
    ("id,rate\n\0,1\n", "line 2: id '\\x00': expected text"),
    ("id,rate\na\0b,1\n", "line 2: id 'a\\x00b': expected text"),
    ("id,rate\na,1,2\n", "line 2: 3 fields, 'a,1,2': expected 2 as in the header"),
    ('id,rate\na,1\n"b\nc",2\nd,x\n', "line 5: rate 'x': expected"),
    ('id,rate\n"a,1\n', "line 2: not CSV: unexpected end of data"),
    ("id,rate,model\na,1,gamma\n", "line 2: model 'gamma': expected one of poisson, weibull, pareto, quasi-"),
    ("id,rate,model\na,1,weibull\n", "line 2: shape '' of the model weibull: expected a number from 0.01 up"),
    ("id,rate,shape\na,1,2\n", "line 2: shape '2' of the model poisson: expected nothing, or another model"),
    ("id,rate,model,shape\na,1,pareto,1\n", "line 2: shape '1' of the model pareto: expected a number above 1"),
    ("id,rate,model,shape\na,5,quasi-deterministic,4\n", "line 2: shape '4' of the model quasi-deterministic: "),
])
def test_what_is_wrong_is_named_with_its_line(path: Path, text: str, wrong: str) -> None:
    with pytest.raises(TraceError) as caught:
        read(path, text)
    assert str(caught.value).startswith(f"{path}: {wrong}")
    assert "\n" not in str(caught.value)


def test_an_id_that_is_no_utf8_is_named(path: Path) -> None:
    path.write_bytes(b"id,rate\na,1\n\xff\xfe,1\n")
    with pytest.raises(TraceError, match=r"line 3: id .*: expected UTF-8 text"):
        read_objects(path)


def test_a_missing_file_is_named(path: Path) -> None:
    with pytest.raises(TraceError, match=r"o\.csv: No such file or directory"):
        read_objects(path)
