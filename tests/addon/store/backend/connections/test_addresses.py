"""The URLs of a cluster and of sentinels; those of one server are in test_connection."""

import pytest

from bestbefore.addon.store.backend.connections.addresses import parse_address, without_password
from bestbefore.addon.store.backend.interface import StoreInputError


def test_each_node_of_a_cluster_has_the_user_and_the_options():
    found = parse_address("rediss+cluster://me:se,cret@a:1,[::1],b?wait=2&ssl_cert_reqs=none")
    assert found.kind == "cluster"
    assert found.wait == 2
    assert found.urls == tuple(
        f"rediss://me:se,cret@{host}?ssl_cert_reqs=none" for host in ("a:1", "[::1]", "b")
    )
    assert "cret" not in found.shown


def test_sentinels_have_a_port_of_their_own_and_name_a_service():
    found = parse_address("redis+sentinel://a,b:1,[::1]/main/2")
    assert (found.kind, found.service) == ("sentinel", "main")
    assert found.urls == ("redis://a:26379/2", "redis://b:1/2", "redis://[::1]:26379/2")


def test_sentinels_have_a_user_of_their_own():
    url = "redis+sentinel://me:one@a/main?sentinel_username=%40you&sentinel_password=t%26wo&protocol=3"
    found = parse_address(url)
    assert found.sentinel_user == {"username": "@you", "password": "t&wo"}
    assert found.urls == ("redis://me:one@a:26379?protocol=3",)
    assert found.shown == "redis+sentinel://me:***@a/main?sentinel_username=%40you&sentinel_password=***&protocol=3"
    assert without_password("redis://a?password=secret&db=1") == "redis://a?password=***&db=1"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("redis+cluster://", "no host"),
        ("redis+cluster://a,,b", "no host"),
        ("redis+cluster://a/1", "only the database 0"),
        ("redis+cluster://a:x,b", "'x'"),
        ("redis+cluster://a,b?foo=1", "'foo'"),
        ("redis+cluster://a?wait=-1", "number of replicas"),
        ("redis://a?wait=17", "number of replicas"),
        ("redis+sentinel://a,b", "names no service"),
        ("redis://a?sentinel_password=x", "no sentinels"),
        ("unix+cluster:///a", "expected"),
        ("redis+ring://a", "expected"),
    ],
)
def test_what_is_no_address_is_the_users_mistake(url, says):
    with pytest.raises(StoreInputError, match=says):
        parse_address(url)
