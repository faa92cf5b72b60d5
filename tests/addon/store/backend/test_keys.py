"""Where each thing is kept, and what is kept together: the copies of an object, and the counts of a domain."""

from collections import Counter

import pytest
from redis.crc import key_slot

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.keys import earlier, host_of, type_of, variant_of


def test_jobs_have_the_registrable_domain_as_their_hash_tag_records_a_part_of_it_and_copies_the_object():
    url = "http://www.example.co.uk/a"
    assert keys.of_url(url, "fetch") == "bb1:{example.co.uk}:fetch:http://www.example.co.uk/a"
    assert keys.of_object(url, "copies", "bodies") == [f"bb1:copies:{{{url}}}", f"bb1:bodies:{{{url}}}"]
    assert keys.of_record(url, "www.example.co.uk") == [  # written down: another part would lose what is stored
        "bb1:{example.co.uk#25}:record:http://www.example.co.uk/a",
        "bb1:{example.co.uk#25}:hosts",
        "bb1:{example.co.uk#25}:updates:www.example.co.uk",
        "bb1:{example.co.uk#25}:starts:www.example.co.uk",
        "bb1:{example.co.uk#25}:rates:www.example.co.uk",
    ]


@pytest.mark.parametrize("domain", ["example.org", "a.de", "-", "[::1]", "xn--bcher-kva.example", "{b}.org"])
def test_the_parts_of_a_domain_lie_evenly_in_the_slots(domain):
    sixteenths = [key_slot(key.encode()) // 1024 for key in keys.of_parts(domain, "hosts")]
    assert sorted(sixteenths) == list(range(16))


def test_the_objects_of_a_domain_are_spread_over_its_parts():
    sizes = Counter(keys.of_record(f"http://www.example.org/{n}")[1] for n in range(1600))
    assert sizes.keys() == set(keys.of_parts("example.org", "hosts"))
    assert min(sizes.values()) > 60


@pytest.mark.parametrize("url", ["http://a/}:record:b", "http://x}:record:{y/", "no url", "http://[::1]/{}"])
def test_a_url_is_found_again_in_its_key(url):
    key, *others = keys.of_record(url, "}{", "a")
    assert keys.name_in(key.encode(), "record") == url
    assert earlier(key.encode()) is None
    assert key.count("{", 0, key.index("}")) == 1
    assert {key_slot(other.encode()) for other in others} == {key_slot(key.encode())}
    copies, bodies = keys.of_object(url, "copies", "bodies")
    assert (keys.name_in(copies.encode(), "copies"), keys.name_in(bodies.encode(), "copies")) == (url, None)
    assert key_slot(copies.encode()) == key_slot(bodies.encode())


def test_the_host_of_what_is_no_url_is_a_dash():
    assert [host_of(name) for name in ("http://A.org:80/", "object 1", "ftp://a/")] == ["a.org", "-", "-"]


@pytest.mark.parametrize(
    ("cache_group", "label", "host"),
    [("", "a.org", "a.org"), ('"x@y"@https://a.org:8443', '"x@y"@https://a.org:8443', "a.org")],
)
def test_an_object_is_counted_under_its_cache_group_or_its_host(cache_group, label, host):
    counted_as = keys.label_of(Record("https://a.org:8443/b", 1.0, 1.0, cache_group=cache_group))
    assert (counted_as, keys.host_in(counted_as)) == (label, host)


def test_the_key_of_a_variant_depends_on_its_selecting_fields_alone(copy_of):
    copy = copy_of("http://a/", b"1", selecting=(("accept", "x"),))
    assert variant_of(copy) == variant_of(copy_of("http://b/", b"2", selecting=(("accept", "x"),)))
    others = [{"selecting": (("accept", None),)}, {"partition": "p"}, {"personal": "me"}, {}]
    assert len({variant_of(copy), *(variant_of(copy_of("http://a/", **other)) for other in others)}) == 5


@pytest.mark.parametrize(
    ("key", "kind", "name"),
    [
        (b"bb1:{a.org#05}:record:http://a.org/}:copies:x", "record", "http://a.org/}:copies:x"),
        (b"bb1:{a.org#05}:record:http://a.org/}:copies:x", "copies", None),
        (b"bb1:{a.org#05}:hosts", "hosts", None),
        (b"bb1:{a.org#05}:record:\xff", "record", None),
        (b"bb2:{a.org#05}:record:x", "record", None),
        (b"bb1:{a.org}:record:http://a.org/", "record", None),
        (b"bb1:{a.org}:fetch:http://a.org/", "fetch", "http://a.org/"),
        (b"bb1:copies:{http://a.org/}", "copies", "http://a.org/"),
        (b"bb1:{a.org}:copies:http://a.org/", "copies", None),
        (b"bb1:copies:{\xff}", "copies", None),
    ],
)
def test_the_name_of_a_key_shows_what_it_is_about(key, kind, name):
    assert keys.name_in(key, kind) == name


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


@pytest.mark.parametrize(
    ("key", "found"),
    [
        (b"bb1:{a.org}:copies:http://a.org/", ("copies", "http://a.org/")),
        (b"bb1:{a.org}:record:http://a.org/#05}:record:x", ("record", "http://a.org/#05}:record:x")),
        (b"bb1:{a.org}:hosts", ("hosts", "")),
        (b"bb1:{a.org}:starts:a.org", ("starts", "a.org")),
        (b"bb1:{a.org#05}:record:http://a.org/", None),
        (b"bb1:{a.org}:fetch:http://a.org/", None),
        (b"bb1:{\xff}:hosts", None),
        (b"bb1:x", None),
    ],
)
def test_a_key_that_has_another_name_now_is_known(key, found):
    assert earlier(key) == found


@pytest.mark.parametrize(
    ("key", "domain"),
    [(b"bb1:{a.org#05}:hosts", "a.org"), (b"bb1:{a.org}:requests", "a.org"), (b"bb1:{a.org}:else", None), (b"x", None)],
)
def test_the_name_of_a_key_shows_its_domain(key, domain):
    assert keys.name_of_domain(key) == domain
