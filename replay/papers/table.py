"""The table of papers by name. A new paper needs a module with a function `write`, a line here and a test file."""

import importlib
from collections.abc import Callable, Mapping
from typing import cast

from bestbefore.policies.validation.machinery.spec import unknown_name
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page

Write = Callable[[Work, Page], None]
"""Writes the printed values and ours to the page of a paper. Raises TraceError for a trace that cannot be read."""

PAPERS: Mapping[str, str] = {
    "adaptive": "bestbefore.replay.papers.adaptive.paper",
    "crawling": "bestbefore.replay.papers.crawling.paper",
    "feeds": "bestbefore.replay.papers.feeds.paper",
    "multicast": "bestbefore.replay.papers.multicast.paper",
    "refresh": "bestbefore.replay.papers.refresh.paper",
}
"""The module of each paper's function `write`, imported only when its page is made."""


def writer_of(name: str) -> Write:
    """Return the function `write` of a paper. Raises ValueError for an unknown name, with the nearest known one."""
    if name not in PAPERS:
        raise ValueError(unknown_name("paper", name, PAPERS))
    return cast("Write", importlib.import_module(PAPERS[name]).write)
