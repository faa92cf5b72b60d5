from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.config import values

HOUR_S, DAY_S = 3600.0, 86400.0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("8MiB", 8 << 20), ("1GiB", 1 << 30), ("64 KiB", 64 << 10), ("1TiB", 1 << 40), ("512B", 512), ("512", 512),
        (512, 512), (0, 0), ("1024TiB", 1 << 50),
    ],
)
def test_a_size_is_a_number_of_bytes_or_has_a_binary_unit(value: object, expected: int) -> None:
    assert values.size_bytes()(value) == expected


@pytest.mark.parametrize(
    "value", ["8MB", "8M", "8mib", "1.5GiB", "-1", -1, 1.0, True, "", "MiB", "1025TiB", "9" * 30, "٣", None, []]
)
def test_what_is_no_size_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        values.size_bytes()(value)


def test_a_size_below_its_minimum_is_refused() -> None:
    with pytest.raises(ValueError, match="from 1MiB"):
        values.size_bytes(1 << 20)("1023KiB")


def test_a_whole_number_is_one_in_the_file_or_the_digits_of_an_option() -> None:
    read = values.whole_number(1, 64)
    assert [read(value) for value in (1, 64, "8")] == [1, 64, 8]
    for wrong in (0, 65, "65", "-1", "1.0", 1.0, True, "٣", "9" * 30, None):
        with pytest.raises(ValueError, match="expected a whole number from 1 to 64"):
            read(wrong)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("90s", 90), ("15m", 900), ("6h", 6 * HOUR_S), ("7d", 7 * DAY_S), ("1.5h", 5400), ("60", 60), (60, 60),
        (0.5, 0.5),
    ],
)
def test_a_duration_is_in_seconds_or_has_a_unit(value: object, expected: float) -> None:
    assert values.duration_s(value) == expected


@pytest.mark.parametrize(
    "value", ["6 hours", "1w", "-1s", -1, "inf", float("inf"), float("nan"), "nan", "", True, None, [1], "d"]
)
def test_what_is_no_finite_duration_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        values.duration_s(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)), ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("localhost:65535", ("localhost", 65535)), ("[::1]:8080", ("::1", 8080)),
        ("Proxy.LAN:3128", ("proxy.lan", 3128)),
    ],
)
def test_an_address_is_host_and_port(value: str, expected: tuple[str, int]) -> None:
    address = values.address(value)
    assert (address.host, address.port) == expected
    assert values.address(str(address)) == address


@pytest.mark.parametrize(
    "value",
    ["localhost", "8080", ":8080", "*:8080", "::1:8080", "h:65536", "h:-1", "h: 80", "h:8O80", "h:", "", 8080, None,
     "http://h:80", "h:٣", "*.example.org:80", "h:" + "9" * 5000, "h:0123456", "h:008080"],
)
def test_what_is_no_address_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"expected|is not a host"):
        values.address(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("http://parent:3128", "http://parent:3128"), ("https://Origin.example/", "https://origin.example:443"),
        ("http://[::1]:80", "http://[::1]:80"), ("http://origin.example", "http://origin.example:80"),
    ],
)
def test_a_server_is_a_url_without_path(value: str, expected: str) -> None:
    assert str(values.server(value)) == expected


@pytest.mark.parametrize(
    "value",
    ["parent:3128", "ftp://h", "http://", "http://u:p@h", "http://h/path", "http://h?q", "http://h:99999", "http://[::1",
     "http://a b", "http://*", 3128, None, "http://h#x", "http://h\n"],
)
def test_what_is_no_server_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"expected|is not a host"):
        values.server(value)


def test_the_mode_is_forward_or_in_front_of_an_origin() -> None:
    assert values.mode("forward") is None
    assert str(values.mode("reverse:http://127.0.0.1:8000")) == "http://127.0.0.1:8000"
    with pytest.raises(ValueError, match="expected"):
        values.mode("reverse")


@pytest.mark.parametrize(
    "value",
    ["embedded", "redis://localhost", "redis://localhost:6379/0", "rediss://u:p@redis.example:6380", "redis://[::1]:1/2",
     "unix:///run/redis.sock", "unix:///run/redis.sock?db=1"],
)
def test_a_store_is_embedded_or_a_redis_url(value: str) -> None:
    assert values.store(value) == value


@pytest.mark.parametrize(
    "value",
    ["embeded", "redis://", "redis://h:port", "redis://h/zero", "http://h", "localhost:6379", "unix://", "", 0, None],
)
def test_what_is_no_store_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        values.store(value)


@pytest.mark.parametrize("value", [
    "redis://:q/Zx+7@h", "redis://me:a?b@h:6379/0", "redis+cluster://me:a#b@h,i:1", "rediss+sentinel://:x2/3a@h/main",
])  # fmt: skip
def test_a_password_that_would_end_the_host_must_be_encoded(value: str) -> None:
    with pytest.raises(ValueError, match="%2F, %3F and %23"):
        values.store(value)


@pytest.mark.parametrize("value", [
    "redis://h:6379/0?password=a@b", "redis+sentinel://h:1,i:2/main?sentinel_password=a@b", "redis://[::1]/0?password=@",
    "redis+cluster://me:a%2Fb@h", "unix:///a:b/c@d",
])  # fmt: skip
def test_other_places_of_such_characters_are_accepted(value: str) -> None:
    assert values.store(value) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [("192.0.2.0/24", "192.0.2.0/24"), ("192.0.2.7", "192.0.2.7/32"), ("2001:db8::/32", "2001:db8::/32"),
     ("192.0.2.7/32", "192.0.2.7/32"), ("0.0.0.0/0", "0.0.0.0/0")],
)
def test_a_network_may_be_one_address(value: str, expected: str) -> None:
    assert str(values.network(value)) == expected


def test_a_network_with_host_bits_is_refused_with_the_network_that_was_perhaps_meant() -> None:
    with pytest.raises(ValueError, match=r'"192\.0\.2\.0/24"'):
        values.network("192.0.2.1/24")


@pytest.mark.parametrize("value", ["192.0.2.0/33", "lan", "", 5, None, "192.0.2"])
def test_what_is_no_network_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected a network"):
        values.network(value)


def test_a_wrong_item_of_a_list_is_counted_from_one() -> None:
    with pytest.raises(ValueError, match="item 2: expected a port"):
        values.list_of(values.port)([443, 0])


def test_one_of_several_names_the_nearest() -> None:
    with pytest.raises(ValueError, match="expected one of strict, shorten; did you mean strict"):
        values.one_of(("strict", "shorten"))("stict")


def test_a_relative_path_is_seen_from_the_folder(tmp_path: Path) -> None:
    read = values.path_from(tmp_path)
    assert read("a/b") == tmp_path / "a/b"
    assert read("/a") == Path("/a")
    assert read("~/a") == Path.home() / "a"


def test_a_file_must_be_one_that_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "users").touch()
    read = values.readable_file_from(tmp_path)
    assert read("users") == tmp_path / "users"
    for bad in ("missing", ".", "x" * 5000, "~nobody-of-this-name/x", ""):
        with pytest.raises(ValueError, match="expected a"):
            read(bad)


READERS: list[Callable[[object], object]] = [
    values.boolean, values.text, values.size_bytes(), values.duration_s, values.address,
    values.server, values.mode, values.store, values.network, values.port, values.field_name, values.host_pattern,
    values.path_from(Path("/")), values.readable_file_from(Path("/")), values.list_of(values.text),
    values.one_of(("a", "b")),
]
TEXTS = st.text(max_size=20) | st.text("0123456789.:/[]*@-abhtps%", max_size=20)
TOML_VALUES = st.recursive(
    TEXTS | st.integers() | st.floats() | st.booleans() | st.dates() | st.times(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize("read", READERS)
@given(value=TOML_VALUES)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_any_value_is_read_or_refused_with_a_value_error(read: Callable[[object], object], value: object) -> None:
    try:
        read(value)
    except ValueError as error:
        message = str(error)
    else:
        return
    assert "\n" not in message


def test_a_port_is_from_1_to_65535() -> None:
    assert [values.port(number) for number in (1, 443, 65_535)] == [1, 443, 65_535]
    for wrong in (0, 65_536, -1, "80", True, 80.0):
        with pytest.raises(ValueError, match="expected a port, 1 to 65535"):
            values.port(wrong)
