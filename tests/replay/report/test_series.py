from bestbefore.replay.report.series import Series, series_of, value_shown
from bestbefore.replay.sweeps.grid import points_of
from bestbefore.replay.sweeps.sweep import Result


def results(*specs: str) -> list[Result]:
    """One for each point; of the n-th, x is n and y is 100 - n."""
    points = [point for spec in specs for point in points_of(spec)]
    return [Result(point, {"x": float(n), "y": 100.0 - n}) for n, point in enumerate(points)]


def told(series: Series) -> tuple[str, str | None, list[str], list[str]]:
    return series.name, series.key, [r.point.spec for r in series.results], [r.point.spec for r in series.beside]


def test_a_range_is_a_curve() -> None:
    (series,) = series_of(results("ttl:alpha=0.1..0.4/3,max_ttl=1d"), "x", "y")
    assert told(series) == (
        "ttl:max_ttl=1d", "alpha", [f"ttl:alpha={alpha},max_ttl=1d" for alpha in (0.1, 0.2, 0.4)], [],
    )


def test_single_points_of_a_policy_that_differ_in_one_parameter_are_a_curve_in_its_order() -> None:
    (series,) = series_of(results("indhist:theta=0.4", "indhist", "indhist:theta=0.2"), "x", "y")
    assert told(series) == ("indhist", "theta", ["indhist", "indhist:theta=0.2", "indhist:theta=0.4"], [])


def test_ranges_that_differ_elsewhere_are_curves_of_their_own() -> None:
    series = series_of(results("ttl:alpha=0.1..0.4/3", "oracle", "ttl:alpha=0.1..0.4/3,max_ttl=1d"), "x", "y")
    assert [(one.name, one.key, len(one.results)) for one in series] == [
        ("ttl", "alpha", 3), ("ttl:max_ttl=1d", "alpha", 3), ("oracle", None, 1),
    ]


def test_of_a_grid_the_line_joins_what_nothing_of_it_is_better_than() -> None:
    points = points_of("indttl:theta=0.1..0.2/2,alpha=0.1..0.2/2")
    counts = [(1.0, 9.0), (2.0, 9.0), (5.0, 1.0), (3.0, 2.0)]
    (series,) = series_of([Result(p, {"x": x, "y": y}) for p, (x, y) in zip(points, counts, strict=True)], "x", "y")
    assert told(series) == (
        "indttl",
        None,
        ["indttl:theta=0.1,alpha=0.1", "indttl:theta=0.2,alpha=0.2", "indttl:theta=0.2,alpha=0.1"],
        ["indttl:theta=0.1,alpha=0.2"],
    )


def test_what_is_no_number_is_not_joined() -> None:
    (series,) = series_of(results("indhist:fallback=none", "indhist:fallback=ttl"), "x", "y")
    assert told(series) == ("indhist", None, [], ["indhist:fallback=none", "indhist:fallback=ttl"])


def test_the_same_policy_twice_is_one_point() -> None:
    (series,) = series_of(results("ttl", "ttl:alpha=0.1"), "x", "y")
    assert len(series.results) == 1


def test_a_value_is_shown_as_it_was_written() -> None:
    written, unwritten = results("fixed:interval=5m", "fixed")
    assert (value_shown(written, "interval"), value_shown(unwritten, "interval")) == ("5m", "1h")
