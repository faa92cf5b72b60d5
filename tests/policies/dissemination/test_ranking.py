from hypothesis import given
from hypothesis import strategies as st

from bestbefore.policies.dissemination.ranking import Ranking


@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 5))))
def test_the_first_is_the_least_of_all(changes):
    ranking, keys = Ranking(), {}
    for member, key in changes:
        if key is None:
            ranking.discard(member)
            keys.pop(member, None)
        else:
            ranking.put(member, (key,))
            keys[member] = (key,)
        assert ranking.first() == min(((key, member) for member, key in keys.items()), default=None)
        assert len(ranking) == len(keys)
        assert set(ranking._keys) == set(keys)


def test_entries_out_of_date_do_not_accumulate():
    ranking = Ranking()
    for key in range(1000):
        for member in range(10):
            ranking.put(member, (-key,))
    assert len(ranking._heap) < 40
