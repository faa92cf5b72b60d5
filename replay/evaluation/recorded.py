"""The cases of a folder of recorded traces: requests and updates recorded apart, combined in several ways."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.evaluation.case import Case
from bestbefore.replay.evaluation.generated import generated
from bestbefore.replay.evaluation.halves import Half
from bestbefore.replay.evaluation.pairings import Sources
from bestbefore.replay.traces.columns.files import read_requests, read_updates
from bestbefore.replay.traces.columns.objects import read_labels
from bestbefore.replay.traces.columns.selection import requests_of, updates_of
from bestbefore.replay.traces.errors import TraceError

ORIGIN_S, TEST_START_S, DAYS = 1706227200.0, 1706918400.0, 15
"""Of the trace in the folder `paired`."""
UPDATES = ("updates_pages", "updates_scraped", "postings_commits", "postings_feeds", "postings_releases")
"""The files of update times, whose objects are named GROUP/NAME."""
LEAST_OBJECTS = 4
"""The fewest objects of a group for which requests are generated."""
PAIRED, GENERATED = "paired", "generated requests"

Warn = Callable[[str], None]


def recorded_cases(folder: Path, half: Half, pairings: int, warn: Warn) -> list[Case]:
    """Return the paired trace, as many other pairings of its requests, and a trace with generated requests per group.

    Only objects of the half are used, by the names of those whose updates they have. Raises TraceError.
    """
    paths = {name: folder / f"{name}.csv.gz" for name in (*UPDATES, "paired/dev.updates", "paired/dev.requests")}
    labels = folder / "paired/dev.objects.csv"
    for path in (*paths.values(), labels):
        if not path.is_file():
            raise TraceError(f"{path}: no such file; expected the folder of traces to have it")
    source_of = read_labels(labels, "update_source")
    updates = read_updates(paths["paired/dev.updates"], warn)
    requests = read_requests(paths["paired/dev.requests"], warn)
    groups = _groups([paths[name] for name in UPDATES], half, warn)
    whole = Case(PAIRED, "as recorded", updates, requests, ORIGIN_S, TEST_START_S)
    kept = {object_ for object_, source in source_of.items() if half.has(source)}
    own = Case(
        PAIRED, "as recorded", updates_of(updates, kept), requests_of(requests, kept), ORIGIN_S, TEST_START_S
    )
    sources = Sources({group: list(times_s.values()) for group, times_s in groups.items()})
    wanted = [source.partition("/")[0] for source in source_of.values()]
    others = [
        sources.paired(whole, wanted, DAYS * DAY_S, f"pairing {seed}", seed) for seed in range(1, pairings + 1)
    ]
    drawn = [generated(GENERATED, group, times_s, seed=1) for group, times_s in groups.items()]
    return [own, *others, *(case for case in drawn if len(case.requests.objects) >= LEAST_OBJECTS)]


def _groups(paths: list[Path], half: Half, warn: Warn) -> Mapping[str, Mapping[str, FloatArray]]:
    """Read the updates of the objects in the half, by group and object, both in order of their names."""
    groups: dict[str, dict[str, FloatArray]] = {}
    for path in paths:
        for name, times_s in sorted(read_updates(path, warn).times_by_object().items()):
            if half.has(name):
                groups.setdefault(name.partition("/")[0], {})[name] = np.asarray(times_s)
    return dict(sorted(groups.items()))
