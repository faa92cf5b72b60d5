"""Texts that are generated: the line `<!-- generated: NAME -->` of a page stands for the text of this name."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from command_reference import commands
from configuration_reference import configuration_keys
from front_page import changelog, readme

TEXTS: Mapping[str, Callable[[], str]] = {
    "commands": commands, "configuration keys": configuration_keys, "readme": readme, "changelog": changelog,
}
_LINE = re.compile(r"^<!-- generated: (.+) -->$", re.MULTILINE)
_CHANGES = re.compile(r"\]\((?:\.\./)+CHANGELOG\.md\)")
"""A link to a file that lies outside of the pages, and is one of the site."""


def with_generated(text: str) -> str:
    """Return the text of a page with what is generated in it. Raises KeyError for an unknown name."""
    return _LINE.sub(lambda found: TEXTS[found[1]](), text)


def setup(app: Any) -> Mapping[str, bool]:
    """Register this extension with Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}


def _read(_app: Any, name: str, source: list[str]) -> None:
    up = "../" * name.count("/")
    source[0] = _CHANGES.sub(f"]({up}changes.md)", with_generated(source[0]))
