"""What one check of `bestbefore doctor` has found."""

import json
from dataclasses import asdict, dataclass
from typing import Literal

type State = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check."""

    check: str
    """What was checked: a word, for a client after `client:`."""
    state: State
    """`warning`: something that may be meant so; `failed`: the proxy, or this part of it, does not work."""
    found: str
    advice: str = ""
    """What to do, if there is anything."""

    def json_line(self) -> str:
        """Return the finding as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"
