from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.proxy.identity import read_identity
from bestbefore.addon.traffic.files import LoggedRequest, TrafficFiles
from bestbefore.addon.traffic.log import client_names

pytestmark = pytest.mark.live

Left = Callable[[Path], tuple[list[str], list[str]]]
Run = Callable[..., tuple[int, str, str]]
A, B, OTHER = "http://www.example.org/a", "http://www.example.org/b", "https://example.net/a"


@pytest.mark.parametrize(("objects", "forgotten"), [(A, [A]), ("*.example.org", [A, B]), ("example.com", [])])
def test_copies_and_histories_are_removed(
    bestbefore: Run, filled: Path, left: Left, objects: str, forgotten: list[str]
) -> None:
    status, out, err = bestbefore("forget", objects, "--state", filled)
    assert (status, err) == (0, "")
    assert out == f"forgot {len(forgotten)} object{'' if len(forgotten) == 1 else 's'}\n"
    rest = [url for url in (A, B, OTHER) if url not in forgotten]
    assert left(filled) == (rest, rest)


def test_what_is_logged_of_a_client_is_removed(bestbefore: Run, filled: Path, left: Left) -> None:
    hashed = client_names("hash", read_identity(filled)[1])
    names = ["192.0.2.7", hashed("192.0.2.7"), hashed("192.0.2.8"), ""]
    files = TrafficFiles(filled)
    files.append([LoggedRequest(1.7e9 + n, name, A, 1, 200, Outcome.HIT, "ttl") for n, name in enumerate(names)])
    assert bestbefore("forget", "--client", "192.0.2.7", "--state", filled) == (0, "forgot 2 logged requests\n", "")
    assert [request.client for request in files.read(files.days()[0])] == names[2:]
    assert left(filled) == ([A, B, OTHER], [A, B, OTHER])
    assert bestbefore("forget", "--client", "me", "--state", filled)[0] == 2
    assert bestbefore("forget", A, "--client", "192.0.2.7", "--state", filled)[0] == 2
    assert bestbefore("forget", "--state", filled)[0] == 2
