"""Who spoke first in the last tunnel to a server."""

from bestbefore.addon.proxy.tunnels.first_speaker import (
    KNOWN_SILENCE_S,
    SERVERS_REMEMBERED,
    WEB_SILENCE_S,
    FirstSpeakers,
)


def test_a_client_has_time_on_a_web_port_and_where_it_spoke_first_last_time() -> None:
    words = FirstSpeakers()
    assert [words.expected("a.test", port).silence_s for port in (443, 8443, 25)] == [WEB_SILENCE_S] * 2 + [0.0]
    words.expected("a.test", 25).note_first(True)
    expected = [words.expected(*server).silence_s for server in (("A.test", 25), ("a.test", 26), ("b.test", 25))]
    assert expected == [KNOWN_SILENCE_S, 0.0, 0.0]
    words.expected("a.test", 25).note_first(False)
    assert words.expected("a.test", 25).silence_s == 0.0


def test_so_many_servers_are_remembered() -> None:
    words = FirstSpeakers()
    for port in range(SERVERS_REMEMBERED + 1):
        words.expected("a.test", 10_000 + port).note_first(True)
    known = [words.expected("a.test", 10_000 + port).silence_s for port in range(SERVERS_REMEMBERED + 1)]
    assert known == [0.0] + [KNOWN_SILENCE_S] * SERVERS_REMEMBERED
