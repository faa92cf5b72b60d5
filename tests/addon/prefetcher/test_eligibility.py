"""What may be fetched unasked, and where that may lead."""

from dataclasses import replace

import pytest

from bestbefore.addon.prefetcher.eligibility import Refusal, fetch_of, refused_url
from bestbefore.addon.proxy.access.reach import PUBLIC, Reach
from bestbefore.addon.rfc9111.caching.vary import matches
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head, Request

NOW_S = 1_706_300_000.0
URL = "http://example.org/page"
AGENT = "bestbefore/1 (test)"


def copy(*fields: tuple[str, str], status: int = 200, **known: object) -> Copy:
    head = Head(status, Fields([("Date", "Fri, 26 Jan 2024 20:13:20 GMT"), *fields]))
    made = Copy(URL, head, BodyRef("d", 4), NOW_S, NOW_S, NOW_S, NOW_S)
    return replace(made, **known)  # type: ignore[arg-type]


TAGGED = copy(("ETag", '"a"'))


@pytest.mark.parametrize(
    "url",
    [
        URL,
        "http://example.org/feed?format=rss&page=2",
        "http://example.org/search?q=keyword&encoder=x&monkey=1",
        "http://example.org/how-to-delete-a-file",
        "http://example.org/2024/removes/",
        "http://[2001:db8::1]:8080/a;b",
        "http://example.org/k-means?don-t=1&kt=2&tab=3&top-k=4",
        "http://example.org/feeds/videos.xml?channel_id=UC_x5XG1OV2P6uZZ5FSM9Ttw",
        "http://example.org/2024/01/26/how-to-accept-that-a-server-must-reboot-in-2024.html",
        "http://example.org/list?start=20&order=asc&show=open&archive=2024",
        "http://example.org/static/js/main.7666217c.chunk.js",
        "http://example.org/status/1750950000000000000/20240126201320123456",
        "http://example.org/w/ListOfProgrammingLanguages_by_type",
        "http://example.org/wiki/Honorificabilitudinitatibus",
        "http://example.org/dotgov-domains/current-full.csv",
        "http://example.org/watch/dQw4w9WgXcQ",
        "http://example.org/deadbeefdecadefacade",
        "http://example.org/how-to-delete-a-file/acceptance/restarts/updates",
    ],
)
def test_ordinary_urls_may_be_fetched(url: str) -> None:
    assert refused_url(url) is None


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://me:secret@example.org/", Refusal.USERINFO),
        ("http://me@example.org/", Refusal.USERINFO),
        *(
            (f"http://example.org/x?a=1{mark}{key}=2", Refusal.SECRET)
            for mark in "&;"
            for key in (
                "token", "access_token", "accessToken", "ACCESSTOKEN", "id-token", "sig", "X-Amz-Signature", "key",
                "api_key", "apikey", "apiKey", "code", "auth", "PHPSESSID.session", "password", "user[password]",
                "%74oken", "jwt", "state", "PHPSESSID", "jsessionid", "passkey", "rsskey", "secretkey",
            )
        ),
        ("http://example.org/page;jsessionid=1/feed", Refusal.SECRET),
        ("http://example.org/log-out;a=1", Refusal.DEED),
        ("http://example.org/page;do=unsubscribe", Refusal.DEED),
        ("http://example.org/x?token", Refusal.SECRET),
        ("http://example.org/logout", Refusal.DEED),
        ("http://example.org/user/log-out.php", Refusal.DEED),
        ("http://example.org/Sign_Out/", Refusal.DEED),
        ("http://example.org/list/un%73ubscribe?id=3", Refusal.DEED),
        ("http://example.org/index.php?action=delete&id=3", Refusal.DEED),
        ("http://example.org/?logout", Refusal.DEED),
        *((f"http://example.org/x?{query}", Refusal.SECRET) for query in ("t=1", "a=1&k=2", "K=1", "t", "%74=1")),
        ("http://example.org/page;t=1", Refusal.SECRET),
        *(
            (f"http://example.org/{path}", Refusal.TOKEN)
            for path in (
                "calendar/ical/private-0a1b2c3d4e5f60718293a4b5c6d7e8f9/basic.ics",
                "reset/0A1B2C3D4E5F6071",
                "u/550e8400-e29b-41d4-a716-446655440000/feed.xml",
                "magic/eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2ln",
                "d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/export",
                "s/a%62c3def4ghi5jkl6mno7",
                "in/VXU3bFBwWE11OVM0Ylpqcw==/1",
                "contact/phone/088d43cb-a49e-4174-b188-db1c91ffbbb0",
                "storage/articles/January2024/niXelFsZnuXvMrDhWWGu.jpg",
            )
        ),
        *(
            (f"http://example.org/{path}", Refusal.DEED)
            for path in (
                "invitation/accept", "api/reboot", "device/3/restart", "posts/7/approve", "a/confirm", "power/shutdown",
                "user/5/disable", "user/5/enable", "x.cgi?cmd=reboot", "x?do=accept", "x?restart", "Accept-Invite/3",
                "rebootDevice", "confirm-email/3", "nic/update?hostname=a", "?add-to-cart=12", "wp-cron.php",
                "ShutDown.aspx", "delete_user", "system/power-off",
            )
        ),
        ("http://example.org/" + "a" * 5000, Refusal.TOO_LONG),
        ("http://example.org/?" + "&".join(f"a{n}=1" for n in range(100)), Refusal.TOO_LONG),
    ],
)
def test_secrets_and_deeds_are_not_fetched(url: str, why: Refusal) -> None:
    assert refused_url(url) is why


def fetched(*copies: Copy, asked_from: tuple[str, ...] = ()) -> tuple[Request, Reach]:
    found = fetch_of(copies, asked_from, AGENT)
    assert not isinstance(found, Refusal)
    return found


def test_we_say_who_we_are() -> None:
    request, reach = fetched(TAGGED)
    assert request.fields.raw == (("User-Agent", AGENT),)
    assert (request.method, request.target.url, reach) == ("GET", URL, PUBLIC)


def test_the_request_has_what_vary_names_as_the_client_sent_it() -> None:
    varying = replace(
        TAGGED, selecting=(("accept-encoding", "gzip, br"), ("accept-language", "de;q=1,en;q=0.5"), ("x-a", None))
    )
    request, _ = fetched(varying)
    assert request.fields.get("accept-encoding") == "gzip, br"
    assert request.fields.get("accept-language") == "de;q=1,en;q=0.5"
    assert "x-a" not in request.fields
    assert matches(varying, request.fields), "the answer is the same variant"


def test_a_user_agent_that_selects_is_the_clients() -> None:
    request, _ = fetched(replace(TAGGED, selecting=(("user-agent", "Mozilla/5.0"),)))
    assert request.fields.values("user-agent") == ("Mozilla/5.0",)


def test_of_several_variants_the_one_validated_last_is_refreshed() -> None:
    other = replace(TAGGED, selecting=(("accept-language", "fr;q=1"),), response_time_s=NOW_S + 1)
    request, _ = fetched(TAGGED, other)
    assert request.fields.get("accept-language") == "fr;q=1"


@pytest.mark.parametrize(
    ("copies", "why"),
    [
        ((), Refusal.NO_COPY),
        ((copy(("Cache-Control", "max-age=60")),), Refusal.NO_COPY),
        ((copy(("ETag", '"a"'), status=404),), Refusal.NO_COPY),
        ((replace(TAGGED, personal="hash"),), Refusal.PERSONAL),
        ((replace(TAGGED, fetched_with_cookie=True),), Refusal.PERSONAL),
        ((replace(TAGGED, fetched_with_authorization=True),), Refusal.PERSONAL),
        ((copy(("ETag", '"a"'), ("Set-Cookie", "a=1")),), Refusal.PERSONAL),
        ((replace(TAGGED, selecting=(("cookie", "digest"),)),), Refusal.PERSONAL),
        ((replace(TAGGED, range="10.0.0.0/8"),), Refusal.PRIVATE_ADDRESS),
    ],
)
def test_what_is_not_for_us(copies: tuple[Copy, ...], why: Refusal) -> None:
    assert fetch_of(copies, (), AGENT) is why


def test_a_private_address_is_reached_only_if_a_client_of_its_range_or_of_this_machine_asked() -> None:
    inside = replace(TAGGED, range="10.0.0.0/8")
    for asked_from in (("10.0.0.0/8",), ("loopback",), ("192.168.0.0/16", "loopback")):
        assert fetched(inside, asked_from=asked_from)[1] == Reach(frozenset({"10.0.0.0/8"}))
    assert fetch_of((inside,), ("192.168.0.0/16",), AGENT) is Refusal.PRIVATE_ADDRESS


def test_what_came_from_a_public_address_never_leads_to_a_private_one() -> None:
    """As when a name has another address by now: the client of this machine asked for what was public then."""
    _, reach = fetched(TAGGED, asked_from=("loopback",))
    assert not reach.allows("127.0.0.1")
    assert not reach.allows("10.0.0.1")
