"""The papers by name. A new one is a module with a function `write`, a line here and a test file."""

import difflib
import importlib
from collections.abc import Callable, Mapping
from typing import cast

from bestbefore.replay.papers.page import Page
from bestbefore.replay.papers.work import Work

Write = Callable[[Work, Page], None]
"""Adds what the paper prints, and what we find, to its page. Raises TraceError for a trace that cannot be read."""

PAPERS: Mapping[str, str] = {
    "adaptive": "bestbefore.replay.papers.adaptive.paper",
    "crawling": "bestbefore.replay.papers.crawling.paper",
    "feeds": "bestbefore.replay.papers.feeds.paper",
    "refresh": "bestbefore.replay.papers.refresh.paper",
}
"""Where the function `write` of each is; imported only when its page is made."""


def writer_of(name: str) -> Write:
    """Return the writer of the page of a paper. Raises ValueError for an unknown one, with the nearest known."""
    if name not in PAPERS:
        nearest = difflib.get_close_matches(name.lower(), PAPERS, n=1)
        hint = f", did you mean {nearest[0]!r}?" if nearest else ""
        raise ValueError(f"no such paper {name!r}{hint} (known: {', '.join(PAPERS)})")
    return cast("Write", importlib.import_module(PAPERS[name]).write)
