from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from bestbefore.replay.planning.parted.part_files import check_ids, part_paths, read_columns
from bestbefore.replay.planning.parted.parted_plan import Totals
from bestbefore.replay.traces.errors import TraceError

ONE = pl.DataFrame({"id": ["a", "b"], "rate": [1, 2], "weight": [None, 3.0], "max": [4.0, None], "other": ["x", "y"]})


def test_missing_values_have_their_defaults(tmp_path: Path) -> None:
    ONE.write_parquet(tmp_path / "b.parquet")
    (tmp_path / "manifest.json").write_text("{}")
    (path,) = part_paths(tmp_path)
    columns = read_columns(path)
    assert (columns.rates.tolist(), columns.weights.tolist()) == ([1.0, 2.0], [1.0, 3.0])
    assert columns.minimum is None
    assert columns.maximum is not None
    assert columns.maximum.tolist() == [4.0, float("inf")]
    check_ids(path)


@pytest.mark.parametrize(("change", "expected"), [
    (lambda one: one.drop("rate"), "no column 'rate' in 'id,weight,max,other': expected id,rate,weight,min,max"),
    (lambda one: one.with_columns(rate=pl.lit("x")), "column 'rate' is of type String: expected numbers"),
    (lambda one: one.with_columns(rate=pl.Series([1.0, -1.0])), "row 2: rate -1.0: expected a number from 0"),
    (lambda one: one.with_columns(rate=pl.Series([1.0, None])), "row 2: no rate"),
    (lambda one: one.with_columns(min=pl.lit(9.0)), "row 1: min 9 above max 4"),
    (lambda one: one.with_columns(id=pl.lit("a")), "row 2: id 'a': expected each id once"),
    (lambda one: one.with_columns(id=pl.Series(["a", None])), "row 2: no id"),
    (lambda one: one.with_columns(model=pl.lit("pareto")), "column 'model': objects in parts are Poisson"),
    (lambda one: one.with_columns(weight=pl.lit(float("nan"))), "row 1: weight nan"),
])
def test_what_is_wrong_is_named_with_its_row(
    change: Callable[[pl.DataFrame], pl.DataFrame], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "3.parquet"
    change(ONE).write_parquet(path)
    with pytest.raises(TraceError) as caught:
        Totals.of_part(path)
    assert str(caught.value).startswith(f"{path}: {expected}")


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    path = tmp_path / "4.parquet"
    path.write_text("id,rate\n")
    with pytest.raises(TraceError, match=r"4\.parquet: not Parquet"):
        read_columns(path)
