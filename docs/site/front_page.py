"""The front page: the README, whose links lead from the root of the repository."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_TITLE = re.compile(r"\A# .*\n")
_LIST_OF_PAGES = re.compile(r"^## More\n.*?(?=\n\n(?!- ))", re.DOTALL | re.MULTILINE)
"""The navigation has them."""


def readme() -> str:
    """Return the README without its title and its list of pages."""
    text = _LIST_OF_PAGES.sub("", _TITLE.sub("", (ROOT / "README.md").read_text()))
    return text.replace("](docs/", "](").replace("](CHANGELOG.md", "](changes.md")


def changelog() -> str:
    """Return the changelog without its title."""
    return _TITLE.sub("", (ROOT / "CHANGELOG.md").read_text()).replace("](docs/", "](")
