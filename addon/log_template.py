"""Templates of log lines, such as `{time} {client} "{method} {url}" {status}`."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Self

FORMATS = ("line", "json", "combined", "squid")
"""The log formats with a name; any other format is a template."""

FIELDS = (
    "time", "unix_time", "client", "user", "method", "url", "protocol", "status", "verdict", "reason", "ttl_s",
    "took_s", "sent_bytes", "received_bytes", "uploaded_bytes", "stored", "complete", "background", "agent", "referer",
    "because",
)  # fmt: skip
"""The fields of a request in templates and JSON."""


@dataclass(frozen=True, slots=True)
class LogTemplate:
    """A parsed template."""

    parts: tuple[tuple[str, str | None], ...]
    """Texts, each followed by a field, or by None at the end."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a template. Raises ValueError with what was expected."""
        try:
            parts = tuple(Formatter().parse(text))
        except ValueError as error:
            raise ValueError(f"expected {{NAME}} for each field, and {{{{ for a brace: {error}") from None
        for _, name, spec, conversion in parts:
            if name is not None and (name not in FIELDS or spec or conversion):
                meant = difflib.get_close_matches(name, FIELDS, n=1)
                hint = f"did you mean {{{meant[0]}}}?" if meant else f"expected one of {', '.join(FIELDS)}"
                raise ValueError(f"there is no field {{{name}}}; {hint}")
        if all(name is None for _, name, _, _ in parts):
            raise ValueError(f"expected one of {', '.join(FORMATS)}, or a template with fields such as {{url}}")
        return cls(tuple((text, name) for text, name, _, _ in parts))

    def filled(self, values: Mapping[str, str]) -> str:
        """Return the template with the values of its fields."""
        return "".join(text if name is None else text + values[name] for text, name in self.parts)
