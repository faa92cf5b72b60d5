from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.personal import cookie_hash
from bestbefore.addon.rfc9111.caching.vary import (
    LONGEST,
    LongFieldError,
    Variants,
    accepted_encodings,
    choose,
    matches,
    normalised,
    selecting,
    variant_key,
)
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request

type MakeCopy = Callable[..., Copy]
type MakeRequest = Callable[..., Request]
type MakeFields = Callable[..., Fields]

FRESH = "Cache-Control: max-age=60"


@pytest.mark.parametrize(
    ("accepts", "sent"),
    [
        ([], None),
        (["Accept-Encoding: "], None),
        (["Accept-Encoding: identity"], None),
        (["Accept-Encoding: gzip"], "gzip"),
        (["Accept-Encoding: x-gzip"], "gzip"),
        (["Accept-Encoding: GZIP, deflate, Br, zstd"], "gzip, br"),
        (["Accept-Encoding: br", "Accept-Encoding: gzip"], "gzip, br"),
        (["Accept-Encoding: gzip;q=0.5 , br; q=0.001"], "gzip, br"),
        (["Accept-Encoding: gzip, br;q=0"], "gzip"),
        (["Accept-Encoding: gzip;q=0, br"], None),
        (["Accept-Encoding: br"], None),
        (["Accept-Encoding: *"], "gzip, br"),
        (["Accept-Encoding: *, br;q=0.000"], "gzip"),
        (["Accept-Encoding: gzip;q=0, *"], None),
        (["Accept-Encoding: gzip;q=2"], None),
        (["Accept-Encoding: gzip;level=1"], None),
        (["Accept-Encoding: gzip" + ", x" * 500], None),
    ],
)
def test_what_a_client_accepts_is_one_of_three(fields: MakeFields, accepts: list[str], sent: str | None) -> None:
    assert accepted_encodings(fields(*accepts)) == sent


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (["Foo: 1, 2"], ["Foo: 1", "foo: 2"], True),
        (["Foo: 1,2"], ["Foo:  1 , 2 "], True),
        (["Foo: a"], ["Foo: A"], False),
        (["Foo: 1, 2"], ["Foo: 2, 1"], False),
        (["Foo: "], [], False),
        (['Foo: "a, b"'], ['Foo: "a,b"'], False),
        (["Accept-Language: en, de"], ["Accept-Language:  eN ,  De"], True),
        (["Accept-Language: en, de;q=0.5"], ["Accept-Language: de; q=0.500, EN;q=1.0"], True),
        (["Accept-Language: en;q=0, de;q=0.5"], ["Accept-Language: de;q=0.5, en;q=0.0"], True),
        (["Accept-Language: de;q=0, en"], ["Accept-Language: en, de;q=0"], True),
        (["Accept-Language: en, de"], ["Accept-Language: de, en"], False),
        (["Accept-Language: en;x=1"], ["Accept-Language: en;x=2"], False),
        (["Cookie: a=1, 2"], ["Cookie: a=1,2"], False),
        (["Cookie: a=1"], ["Cookie: a=1"], True),
        (["Accept-Encoding: gzip, deflate"], ["Accept-Encoding: x-gzip"], True),
    ],
)
def test_values_match_if_they_mean_the_same(
    stored: MakeCopy, request_to: MakeRequest, one: list[str], other: list[str], equal: bool
) -> None:
    copy = stored(FRESH, "Vary: foo, accept-language, cookie, accept-encoding", request=request_to(*one))
    assert matches(copy, request_to(*one).fields)
    assert matches(copy, request_to(*other).fields) is equal


def test_credentials_are_not_kept_in_the_key(fields: MakeFields) -> None:
    kept = selecting(fields("Vary: Cookie, Authorization"), fields("Cookie: s3cret", "Authorization: s3cret"))
    assert kept is not None
    assert [name for name, _ in kept] == ["authorization", "cookie"]
    assert "s3cret" not in repr(kept)


@pytest.mark.parametrize("name", ["TE", "Connection", "Upgrade", "Proxy-Authorization"])
def test_what_no_origin_is_sent_selects_nothing(fields: MakeFields, name: str) -> None:
    assert normalised(name.lower(), fields(f"{name}: trailers")) is None


@pytest.mark.parametrize("name", ["Accept-Language", "Foo"])
def test_a_long_field_selects_nothing(stored: MakeCopy, request_to: MakeRequest, fields: MakeFields, name: str) -> None:
    most = ", ".join(["en"] * (LONGEST // 4))[:LONGEST]
    fits, long = request_to(f"{name}: {most}"), request_to(f"{name}: {most}", f"{name}: eng")
    copy = stored(FRESH, f"Vary: {name}", request=fits)
    assert choose([copy], fits.fields, b"") is copy
    with pytest.raises(LongFieldError):
        normalised(name.lower(), long.fields)
    assert selecting(fields(f"Vary: Other, {name}"), long.fields) is None
    for copies in ([copy], [copy, stored(FRESH, f"Vary: {name}")]):
        assert choose(copies, long.fields, b"") is None
    plain = stored(FRESH)
    assert choose([plain], long.fields, b"") is plain, "what does not vary by it answers it"


def test_credentials_may_be_as_long_as_they_are(stored: MakeCopy, request_to: MakeRequest) -> None:
    request = request_to("Cookie: " + "a=1; " * 4000)
    copy = stored(FRESH, "Vary: Cookie", request=request)
    assert choose([copy], request.fields, b"") is copy


MANY = ",".join(f"f{number}" for number in range(65))


@pytest.mark.parametrize("vary", [["*"], ["*, *"], ["", "*"], [", *"], ["Foo, *"], ["foo bar"], ['"foo"'], [MANY]])
def test_some_values_of_vary_match_nothing(vary: list[str]) -> None:
    assert selecting(Fields(("Vary", value) for value in vary), Fields()) is None


def test_encoded_content_is_selected_by_accept_encoding_also_where_vary_forgets_it(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    copy = stored(FRESH, "Content-Encoding: br", request=request_to("Accept-Encoding: br, gzip"))
    assert choose([copy], request_to("Accept-Encoding: gzip, br").fields, b"") is copy
    assert choose([copy], request_to("Accept-Encoding: gzip").fields, b"") is None
    assert choose([copy], request_to().fields, b"") is None


def test_the_most_recent_copy_that_matches_is_chosen(stored: MakeCopy, request_to: MakeRequest) -> None:
    one, two = request_to("Foo: 1"), request_to("Foo: 2")
    old = stored(FRESH, "Vary: Foo", "Date: Tue, 26 May 2026 20:26:30 GMT", request=one)
    new = stored(FRESH, "Vary: Foo", "Date: Tue, 26 May 2026 20:26:35 GMT", request=one)
    other = stored(FRESH, "Vary: Foo", request=two)
    for copies in ([old, new, other], [other, new, old]):
        assert choose(copies, one.fields, b"") is new
        assert choose(copies, two.fields, b"") is other
        assert choose(copies, request_to().fields, b"") is None
    assert choose([], one.fields, b"") is None


def test_a_copy_without_vary_is_passed_over_once_a_later_one_has_it(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    early, late = "Date: Tue, 26 May 2026 20:26:30 GMT", "Date: Tue, 26 May 2026 20:26:35 GMT"
    asked = request_to("Foo: 2").fields
    plain, varied = stored(FRESH, early), stored(FRESH, late, "Vary: Foo", request=request_to("Foo: 1"))
    assert choose([plain, varied], asked, b"") is None
    assert choose([plain, plain, varied], asked, b"") is None
    plain, varied = stored(FRESH, late), stored(FRESH, early, "Vary: Foo", request=request_to("Foo: 1"))
    assert choose([plain, varied], asked, b"") is plain


def test_a_bound_copy_answers_only_the_same_cookie(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    alice, bob = (request_to(f"Cookie: who={name}", url="https://example.org/") for name in ("alice", "bob"))
    copy = stored(FRESH, "Content-Type: text/html", request=alice)
    assert choose([copy], alice.fields, b"salt") is copy
    assert choose([copy], bob.fields, b"salt") is None
    assert choose([copy], Fields(), b"salt") is None
    first = stored(FRESH, "Set-Cookie: who=carol", request=request_to(url="https://example.org/"))
    assert choose([first], Fields(), b"salt") is first
    assert choose([first], bob.fields, b"salt") is None
    assert len({variant_key(copy), variant_key(first), variant_key(stored(FRESH))}) == 3


def test_the_key_of_a_variant_is_the_one_that_stores_hold(stored: MakeCopy) -> None:
    assert variant_key(stored(FRESH)) == "861d444e5766121891358b49"


def test_who_has_a_page_of_his_own_gets_that(stored: MakeCopy, request_to: MakeRequest) -> None:
    ann = request_to("Cookie: sid=ann", url="https://example.org/page")
    own = stored("Date: Tue, 26 May 2026 20:20:00 GMT", FRESH, request=ann)
    later = stored("Date: Tue, 26 May 2026 20:26:00 GMT", FRESH, request=request_to(url="https://example.org/page"))
    assert choose([own, later], ann.fields, b"salt") is own
    assert choose([own, later], request_to("Cookie: sid=bob").fields, b"salt") is later



lists = st.lists(st.text(st.sampled_from('abq=01.; ,"*\\\xff'), max_size=12), max_size=3)
NAMES = ("accept-encoding", "accept-language", "foo", "cookie")


@given(lists, st.sampled_from(NAMES))
@settings(max_examples=200, derandomize=True)
def test_no_text_makes_normalising_fail_and_none_is_only_for_absence(values: list[str], name: str) -> None:
    request = Fields((name, value) for value in values)
    value = normalised(name, request)
    if name != "accept-encoding":
        assert (value is None) == (not values)
    selecting(Fields(("Vary", value) for value in values), request)


@given(lists, st.integers(0, 5))
@settings(max_examples=100, derandomize=True)
def test_white_space_around_commas_never_matters(values: list[str], spaces: int) -> None:
    plain = [value.replace('"', "").replace(" ", "") for value in values]
    for name in ("accept-encoding", "accept-language", "foo"):
        spaced = Fields((name, value.replace(",", " " * spaces + ",\t")) for value in plain)
        assert normalised(name, spaced) == normalised(name, Fields((name, value) for value in plain))


class CountedFields(Fields):
    """Fields that count how often one is looked at."""

    looked = 0

    def values(self, name: str) -> tuple[str, ...]:
        """Those of one name."""
        self.looked += 1
        return super().values(name)


@pytest.mark.parametrize("wanted", ["l0", "l63", "other"])
def test_a_search_looks_at_each_field_once_however_many_variants_there_are(
    stored: MakeCopy, request_to: MakeRequest, wanted: str
) -> None:
    def variant(number: int) -> Copy:
        request = request_to(f"Accept-Language: l{number}", "Foo: a, b")
        return stored(FRESH, "Vary: Accept-Language, Foo", request=request)

    looked = []
    for copies in ([variant(0)] * 2, [variant(number) for number in range(64)]):
        asked = CountedFields([("Accept-Language", wanted), ("Foo", "a,b")])
        found = choose(copies, asked, b"salt")
        assert found is None or found.selecting[0][1] == f"{wanted};q=1"
        looked.append(asked.looked)
    assert looked == [2, 2]


SALT = b"salt"
COOKIES = ("", "sid=ann", "sid=bob")


def plainly_chosen(copies: list[Copy], request: Fields, salt: bytes) -> Copy | None:
    """What `choose` is defined as: each copy is compared in its turn."""
    negotiated = False
    in_order = sorted(copies, key=lambda c: (bool(c.personal), c.date_s, c.response_time_s), reverse=True)
    for copy in in_order:
        if copy.personal and copy.personal != cookie_hash(request, salt):
            continue
        varies = "vary" in copy.head.fields
        if (varies or not negotiated) and matches(copy, request):
            return copy
        negotiated = negotiated or varies
    return None


requests = st.builds(
    lambda language, foo, encoding, cookie: Fields(
        (name, value)
        for name, value in (
            ("Accept-Language", language), ("Foo", foo), ("Accept-Encoding", encoding), ("Cookie", cookie)
        )
        if value
    ),
    st.sampled_from(("", "de", "DE;q=1", "en, de;q=0.5", "de, " * 400)),
    st.sampled_from(("", "1", "1, 2", "1,2")),
    st.sampled_from(("", "gzip", "br, gzip", "*")),
    st.sampled_from(COOKIES),
)


@st.composite
def variants(draw: st.DrawFn) -> Copy:
    vary = draw(st.sampled_from((None, "", "Foo", "Accept-Language", "foo, accept-language", "Cookie", "TE")))
    lines = [("Date", format_http_date(1e9 + draw(st.integers(0, 2))))]
    lines += [("Vary", vary)] if vary is not None else []
    lines += [("Content-Encoding", "gzip")] if draw(st.booleans()) else []
    fields, request = Fields(lines), draw(requests)
    moment_s = 1e9 + draw(st.integers(0, 2))
    personal = draw(st.sampled_from(("", "", cookie_hash(request, SALT))))
    return Copy(
        "http://example.org/", Head(200, fields), BodyRef("d", 1), moment_s, moment_s, moment_s, moment_s,
        selecting=selecting(fields, request) or (), personal=personal,
    )  # fmt: skip


@given(st.lists(variants(), max_size=12), requests)
@settings(max_examples=200, derandomize=True)
def test_the_search_finds_what_comparing_each_copy_in_turn_would(copies: list[Copy], request: Fields) -> None:
    check_search(copies, request)


@pytest.mark.slow
@given(st.lists(variants(), max_size=30), requests)
@settings(max_examples=400, derandomize=True)
def test_so_it_does_among_many(copies: list[Copy], request: Fields) -> None:
    check_search(copies, request)


def check_search(copies: list[Copy], request: Fields) -> None:
    expected = plainly_chosen(copies, request, SALT)
    held = Variants(copies)
    for found in (choose(copies, request, SALT), choose(held, request, SALT), choose(held, request, SALT)):
        assert found is expected
