"""Renders the templates. All that they show is escaped, and a name that is not given is an error."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from bestbefore.addon.admin.sanitize import plain_text, plain_word
from bestbefore.addon.admin.units import ahead, size, span, utc
from bestbefore.addon.dashboard import templates

if TYPE_CHECKING:
    from jinja2 import Environment

URL_SHOWN = 160


@cache
def environment() -> "Environment":
    """Return the templates and what they can call, read when the first page is shown."""
    from jinja2 import DictLoader, Environment, StrictUndefined  # which a proxy that is not looked at does not need

    folder = files(templates)
    texts = {one.name: one.read_text("utf-8") for one in folder.iterdir() if one.name.endswith(".html")}
    made = Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {
        "ahead": ahead, "count": count, "duration": span, "ratio": ratio, "share": share, "size": size,
        "text": plain_text, "utc": utc, "url": shown_url, "word": plain_word,
    }  # fmt: skip
    return made


def render(template: str, values: dict[str, object]) -> str:
    """Return a page."""
    return environment().get_template(template).render(values)


def count(number: float) -> str:
    """Format a whole number.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def share(part: float | None) -> str:
    """Format a share as percent; a dash if it is unknown.

    >>> share(0.1234), share(0.00012), share(1.0), share(None)
    ('12.3 %', '0.012 %', '100 %', '–')
    """
    if part is None:
        return "–"
    return f"{100 * part:.3g} %"


def shown_url(url: str) -> str:
    """Return a URL for a cell of a table, in printable ASCII and cut to `URL_SHOWN` characters."""
    shown = plain_word(url[: URL_SHOWN + 1])
    return shown if len(shown) <= URL_SHOWN else shown[: URL_SHOWN - 3] + "..."


def ratio(part: float, whole: float) -> str:
    """Format part of a whole as percent; a dash of nothing.

    >>> ratio(1, 8), ratio(0, 0)
    ('12.5 %', '–')
    """
    return share(part / whole if whole else None)
