from bestbefore.policies.models.intensity import HOURLY_S
from bestbefore.policies.validation.machinery.features import RECENT_GAPS, ByBin


def test_there_is_room_for_each_segment_of_the_day() -> None:
    room = ByBin.of_lists()
    assert (len(room.counts), len(room.hours), len(room.rates)) == (24, 24, 24)
    assert (len(room.segments), len(room.begins), len(room.worths), len(room.edges_s)) == (25, 25, 25, 25)
    assert len(room.gaps_s) == RECENT_GAPS
    assert room.group_edges_s is room.hourly_s is HOURLY_S


def test_a_group_may_have_other_segments() -> None:
    halves = ByBin.of_lists([0.0, 43200.0, 86400.0])
    assert (len(halves.counts), len(halves.edges_s)) == (2, 3)
    assert halves.hourly_s is HOURLY_S
