"""The origin of a replay: the objects of a trace as resources that change at the times of the trace."""

import bisect
from collections.abc import AsyncGenerator

from bestbefore.addon.clock import Clock
from bestbefore.addon.proxy.access.reach import EVERYWHERE, Reach
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.origin.contact import Fetched
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from bestbefore.policies.validation.siblings.changes import directory_of
from bestbefore.replay.simulate.complete import CompleteHistories


class TraceObjects:
    """The objects of a trace as URLs: one host for each group, one path for each object."""

    def __init__(self, truth: CompleteHistories) -> None:
        """Give a URL to each object of `truth`, the complete histories."""
        groups: dict[str, int] = {}
        directories: dict[str, int] = {}
        self.urls: dict[str, str] = {}
        """The URL of each object by its name."""
        self._times_s: dict[str, list[float]] = {}
        for number, (name, history) in enumerate(truth.histories.items()):
            group = groups.setdefault(truth.grouping.group_of(name), len(groups))
            # `.test` is not on the public suffix list, so each name below it is a registrable domain: a default group.
            directory = directories.setdefault(directory_of(name), len(directories))
            url = f"http://group{group}.test/{directory}/{number}"
            self.urls[name] = url
            self._times_s[url] = history.times_s.tolist()
        self.groups = {f"group{group}.test": truth.groups[name] for name, group in groups.items()}
        """The group of the objects on each host, over the whole trace."""

    def updates_s(self, url: str, t: float) -> list[float]:
        """The updates of an object up to t."""
        return self._times_s[url][: self.version(url, t)]

    def version(self, url: str, t: float) -> int:
        """The version of the object at t: the number of its updates up to t."""
        return bisect.bisect_right(self._times_s[url], t)


class PlayedOrigin:
    """Answers with the version number of an object at the time of the clock as content and entity tag."""

    def __init__(self, objects: TraceObjects, clock: Clock, *, tells_times: bool) -> None:
        """Take the objects; `tells_times`: whether responses have a Last-Modified, in whole seconds."""
        self._objects = objects
        self._clock = clock
        self._tells_times = tells_times

    async def fetch(
        self,
        request: Request,
        *,
        reach: Reach = EVERYWHERE,  # noqa: ARG002
        interim: Interim = no_interim,  # noqa: ARG002
        upload: Upload | None = None,  # noqa: ARG002
    ) -> Fetched:
        """Answer as `addon.proxy.origin.client.Origin.fetch`, without network and delay."""
        now_s = self._clock.now()
        updates_s = self._objects.updates_s(request.target.url, now_s)
        tag = etag(len(updates_s))
        fields = Fields((("Date", format_http_date(now_s)), ("ETag", tag)))
        if self._tells_times and updates_s:
            fields = fields.added(("Last-Modified", format_http_date(updates_s[-1])))
        if request.fields.get("if-none-match") == tag:
            return Fetched(Head(304, fields), now_s, now_s, _content(b""), 0)
        body = str(len(updates_s)).encode()
        head = Head(200, fields.added(("Content-Length", str(len(body)))))
        return Fetched(head, now_s, now_s, _content(body), len(body))


def etag(version: int) -> str:
    """The entity tag of a version of an object."""
    return f'"{version}"'


async def _content(body: bytes) -> AsyncGenerator[bytes]:
    if body:
        yield body
