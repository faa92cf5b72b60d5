"""Random exchanges of HTTP that meet the rules of caching often: for comparisons with other caches."""

import random
from dataclasses import dataclass

from bestbefore.addon.rfc9111.fields.dates import format_http_date

NOW_S = 1_706_300_000.0
type Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its response, received at `NOW_S`; a request for the same URL later; what a 304 would bear then."""

    method: str
    request: Lines
    status: int
    response: Lines
    later_s: float
    """How much later the second request comes."""
    again: Lines
    """Fields of the second request, which is a GET."""
    not_modified: Lines
    """With the validators of the response more often than not."""


_METHODS = ["GET"] * 16 + ["HEAD", "POST", "PUT"]
_STATUSES = [200] * 20 + [203, 204, 206, 299, 301, 302, 304, 307, 404, 404, 410, 416, 429, 500, 501, 503]
_LIFETIMES = (
    *("max-age=60", "max-age=3600", "max-age=0", "s-maxage=60", "s-maxage=0, max-age=60", "max-age=60, max-age=5"),
    *('max-age="60"', "max-age=6.5", "max-age=-1", "MAX-AGE=60", "max-age = 60", "max-age", "max-age=99999999999"),
)
_DIRECTIVES = (
    *("no-store", "private", "no-cache", "public", "must-revalidate", "proxy-revalidate", "must-understand"),
    *('private="x-a"', 'no-cache="set-cookie"', "immutable", "stale-while-revalidate=60", "stale-if-error=60", "x=y"),
    *("no-store, must-understand", "No-Cache", "private=x"),
)
_ASKED = ("no-cache", "max-age=0", "max-age=30", "min-fresh=30", "max-stale", "max-stale=90", "no-store", "x")
_TAGS = ('"1"', 'W/"1"', '"2"', "unquoted")
_VARY = ("Accept-Language", "Accept-Encoding", "Cookie, Accept-Language", "*", "x-a ,, accept-language")
_LANGUAGES = ("en", "de", "de, en;q=0.5", "de,en;q=0.5")
_DATES_S = (0, 0, 0, 0, -30, -3000, 500)
_MODIFIED_S = (-10, -1000, -100_000, -10_000_000, 100)
_EXPIRES_S = (60, 3600, 0, -60, 10**8)
_LATER_S = (1, 10, 45, 70, 500, 4000, 20_000, 2_000_000)
_NOT_DATES = ("0", "-1", "Fri, 26 Jan 2024 20:13:20", "Fri Jan 26 20:13:20 2024 GMT", "26 Jan 2024 20:13:20 GMT")


class Draws:
    """Makes exchanges, one after the other, from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def exchange(self) -> Exchange:
        """The next one."""
        pick = self._random.choice
        method, request, status, response = pick(_METHODS), self._request(0.06), pick(_STATUSES), self._response()
        later_s = pick(_LATER_S)
        not_modified = self._not_modified(response, later_s)
        return Exchange(method, request, status, response, later_s, self._request(0.15), not_modified)

    def _chance(self, of: float) -> bool:
        return self._random.random() < of

    def _request(self, of_directive: float) -> Lines:
        pick, lines = self._random.choice, []
        if self._chance(of_directive):
            lines.append(("Cache-Control", pick(_ASKED)))
        if self._chance(0.03):
            lines.append(("Pragma", "no-cache"))
        if self._chance(0.05):
            lines.append(("Authorization", pick(("Basic eA==", "Basic eQ=="))))
        if self._chance(0.06):
            lines.append(("Cookie", pick(("a=1", "a=2"))))
        if self._chance(0.5):
            lines.append(("Accept-Language", pick(_LANGUAGES)))
        if self._chance(0.5):
            lines.append(("Accept-Encoding", pick(("gzip", "br, gzip", "identity"))))
        if self._chance(0.04):
            lines.append(("Range", "bytes=0-1"))
        if self._chance(0.03):
            lines.append((pick(("If-None-Match", "If-Match")), '"1"'))
        return tuple(lines)

    def _response(self) -> Lines:
        pick, lines = self._random.choice, [*self._validators(), ("Content-Length", "0")]
        directives = [pick(_LIFETIMES)] if self._chance(0.5) else []
        directives += [pick(_DIRECTIVES) for _ in range(pick((0, 0, 0, 1, 1, 2)))]
        if len(directives) > 1 and self._chance(0.2):
            lines += [("Cache-Control", directive) for directive in directives]
        elif directives:
            lines.append(("Cache-Control", ", ".join(directives)))
        if self._chance(0.25):
            lines.append(("Expires", self._date(_EXPIRES_S)))
        if self._chance(0.9):
            lines.append(("Date", self._date(_DATES_S)))
        if self._chance(0.1):
            lines.append(("Age", pick(("0", "30", "4000", "x", "-5", "30, 1"))))
        if self._chance(0.15):
            lines.append(("Vary", pick(_VARY)))
        if self._chance(0.06):
            lines.append(("Set-Cookie", "a=1"))
        if self._chance(0.05):
            lines.append(("Connection", pick(("close", "X-A", "ETag", "Cache-Control"))))
        if self._chance(0.1):
            lines.append(("X-A", "1"))
        if self._chance(0.1):
            lines.append(("Content-Encoding", "gzip"))
        return tuple(lines)

    def _not_modified(self, response: Lines, later_s: float) -> Lines:
        pick = self._random.choice
        own = [line for line in response if line[0] in ("ETag", "Last-Modified") and self._chance(0.9)]
        lines = own if self._chance(0.8) else self._validators()
        lines.append(("Date", format_http_date(NOW_S + later_s)))
        if self._chance(0.3):
            lines.append(("Cache-Control", pick(_LIFETIMES)))
        for name, value in (("X-A", "2"), ("Content-Type", "text/plain"), ("Content-Length", "9"), ("Set-Cookie", "b")):
            if self._chance(0.15):
                lines.append((name, value))
        return tuple(lines)

    def _validators(self) -> list[tuple[str, str]]:
        lines = []
        if self._chance(0.5):
            lines.append(("ETag", self._random.choice(_TAGS)))
        if self._chance(0.5):
            lines.append(("Last-Modified", self._date(_MODIFIED_S)))
        return lines

    def _date(self, offsets_s: tuple[int, ...]) -> str:
        if self._chance(0.05):
            return self._random.choice(_NOT_DATES)
        return format_http_date(NOW_S + self._random.choice(offsets_s))
