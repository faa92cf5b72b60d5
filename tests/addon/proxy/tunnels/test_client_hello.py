"""What distinguishes the programs of one address."""

from bestbefore.addon.proxy.tunnels.client_hello import fingerprint

SUITES = [0x1301, 0x1302, 0xC02B]
GROUPS = (10, bytes.fromhex("0004 001d 0017"))
VERSIONS = (43, bytes.fromhex("04 0304 0303"))


def test_a_program_has_one_fingerprint_whatever_differs_between_connections() -> None:
    plain = fingerprint(SUITES, [GROUPS, VERSIONS, (5, b"")])
    same = fingerprint(
        [0x5A5A, *reversed(SUITES)],
        [
            (0xFAFA, b""),
            (5, b"x"),
            (43, bytes.fromhex("06 2a2a 0304 0303")),
            (10, bytes.fromhex("0006 eaea 001d 0017")),
            (0, b"a host"),
            (16, b"h2"),
            (21, bytes(100)),
            (51, b"a key"),
            (41, b"a ticket"),
        ],
    )
    assert same == plain


def test_other_offers_are_another_program() -> None:
    made = {
        fingerprint(SUITES, [GROUPS, VERSIONS]),
        fingerprint(SUITES[:2], [GROUPS, VERSIONS]),
        fingerprint(SUITES, [GROUPS]),
        fingerprint(SUITES, [(10, bytes.fromhex("0002 001d")), VERSIONS]),
    }
    assert len(made) == 4
