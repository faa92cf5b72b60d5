"""Where each thing is kept, and what is kept together: the copies of an object, and the counts of a domain."""

import pytest
from redis.crc import key_slot

from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.backend.keys import Keys, earlier_url_in, host_of, type_of, variant_of


def test_records_bear_the_registrable_domain_as_their_hash_tag_and_copies_the_object():
    keys = Keys(registrable_domain)
    url = "http://www.example.co.uk/a"
    assert keys.of_url(url, "record") == "bb1:{example.co.uk}:record:http://www.example.co.uk/a"
    assert keys.of_object(url, "copies", "bodies") == [f"bb1:copies:{{{url}}}", f"bb1:bodies:{{{url}}}"]
    assert keys.of_host("www.example.co.uk", "updates") == "bb1:{example.co.uk}:updates:www.example.co.uk"


@pytest.mark.parametrize("url", ["http://a/}:record:b", "http://x}:record:{y/", "no url", "http://[::1]/{}"])
def test_a_url_is_found_again_in_its_key(url):
    key = Keys(registrable_domain).of_url(url, "record")
    assert Keys.name_in(key.encode(), "record") == url
    assert key.count("{", 0, key.index("}")) == 1
    copies, bodies = Keys.of_object(url, "copies", "bodies")
    assert (Keys.name_in(copies.encode(), "copies"), Keys.name_in(bodies.encode(), "copies")) == (url, None)
    assert key_slot(copies.encode()) == key_slot(bodies.encode())


def test_the_host_of_what_is_no_url_is_a_dash():
    assert [host_of(name) for name in ("http://A.org:80/", "object 1", "ftp://a/")] == ["a.org", "-", "-"]


def test_a_variant_is_told_by_what_selects_it_alone(copy_of):
    copy = copy_of("http://a/", b"1", selecting=(("accept", "x"),))
    assert variant_of(copy) == variant_of(copy_of("http://b/", b"2", selecting=(("accept", "x"),)))
    others = [{"selecting": (("accept", None),)}, {"partition": "p"}, {"personal": "me"}, {}]
    assert len({variant_of(copy), *(variant_of(copy_of("http://a/", **other)) for other in others)}) == 5


@pytest.mark.parametrize(
    ("key", "kind", "name"),
    [
        (b"bb1:{a.org}:record:http://a.org/}:copies:x", "record", "http://a.org/}:copies:x"),
        (b"bb1:{a.org}:record:http://a.org/}:copies:x", "copies", None),
        (b"bb1:{a.org}:hosts", "hosts", None),
        (b"bb1:{a.org}:record:\xff", "record", None),
        (b"bb2:{a.org}:record:x", "record", None),
        (b"bb1:copies:{http://a.org/}", "copies", "http://a.org/"),
        (b"bb1:{a.org}:copies:http://a.org/", "copies", None),
        (b"bb1:copies:{\xff}", "copies", None),
    ],
)
def test_what_a_key_is_about_is_told_by_its_name(key, kind, name):
    assert Keys.name_in(key, kind) == name


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("bb:store", "hash"),
        ("bb1:domains", "set"),
        ("bb1:{a.org}:requests", "zset"),
        ("bb1:tombstone:{http://a.org/\n}", "string"),
        ("bb1:copies:http://a.org/", None),
        ("bb1:{a.org}:else", None),
        ("bb1:{a.org}:", None),
        ("theirs", None),
    ],
)
def test_a_key_of_ours_has_a_type_by_its_name(key, found):
    assert type_of(key) == found


@pytest.mark.parametrize(("key", "url"), [(b"bb1:{a.org}:copies:http://a.org/", "http://a.org/"), (b"bb1:x", None)])
def test_a_key_of_schema_1_is_known(key, url):
    assert earlier_url_in(key, "copies") == url
