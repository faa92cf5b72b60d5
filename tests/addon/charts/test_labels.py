import pytest

from bestbefore.addon.charts.labels import Labels


def labels() -> Labels:
    return Labels(0.0, 0.0, 100.0, 100.0, 10.0)


def test_a_label_stands_to_the_right_above_its_point() -> None:
    place = labels().place(20.0, 50.0, "ttl")
    assert place is not None
    assert place[0] > 20.0
    assert place[1] < 50.0


def test_at_the_right_edge_it_stands_to_the_left() -> None:
    place = labels().place(95.0, 50.0, "ttl")
    assert place is not None
    assert place[0] + 0.6 * 10.0 * 3 < 95.0


def test_two_labels_of_one_point_do_not_lie_over_each_other() -> None:
    both = labels()
    first, second = both.place(50.0, 50.0, "ttl"), both.place(50.0, 50.0, "ttl")
    assert first is not None
    assert second is not None
    assert abs(first[1] - second[1]) >= 10.0 or abs(first[0] - second[0]) >= 18.0


def test_a_label_has_four_places_beside_its_point_where_it_is_wide() -> None:
    wide = labels()
    places = [wide.place(50.0, 50.0, "ttl") for _ in range(5)]
    assert places == [(56.0, 44.0), (56.0, 63.0), (26.0, 44.0), (26.0, 63.0), None]


def test_the_points_of_a_line_are_no_further_apart_than_letters_are_wide() -> None:
    crossed = labels()
    crossed.block_line([(10.0, 10.0), (10.0, 28.0)])
    assert [box for box in crossed._taken if box[0] == 6.0 and box[1] in (12.0, 18.0)] == [
        (6.0, 12.0, 14.0, 20.0), (6.0, 18.0, 14.0, 26.0),
    ]


def test_no_label_lies_over_a_line() -> None:
    """A line from left to right, above the point: the label goes below."""
    crossed = labels()
    crossed.block_line([(0.0, 42.0), (100.0, 42.0)])
    place = crossed.place(50.0, 50.0, "ttl")
    assert place is not None
    assert place[1] - 0.8 * 10.0 > 46.0


@pytest.mark.parametrize("text", ["a name that is longer than the whole chart is wide", "ttl"])
def test_without_room_there_is_no_label(text: str) -> None:
    full = labels()
    for y in range(0, 100, 5):
        full.block_line([(0.0, float(y)), (100.0, float(y))])
    assert full.place(50.0, 50.0, text) is None


def test_where_the_chart_is_narrow_a_label_is_centred_above_or_below_its_point() -> None:
    narrow = Labels(0.0, 0.0, 20.0, 100.0, 10.0)
    places = [narrow.place(10.0, 50.0, "ttl") for _ in range(3)]
    assert places == [(1.0, pytest.approx(41.6)), (1.0, pytest.approx(65.4)), None]


def test_at_the_upper_edge_it_stands_below() -> None:
    place = labels().place(20.0, 5.0, "ttl")
    assert place is not None
    assert place[1] > 5.0
