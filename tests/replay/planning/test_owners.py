from bestbefore.replay.planning.ids import Ids
from bestbefore.replay.planning.owners import owners_of


def test_the_owner_of_an_object_is_its_registrable_domain() -> None:
    ids = Ids.of(["https://a.example.org/1", "example.org/2", "http://b.example.co.uk/", "https://www.Example.org/3"])
    owners = owners_of(ids, 5.0)
    assert (owners.numbers.tolist(), owners.most) == ([0, 0, 1, 0], 5.0)
