"""The request log: one line per answered request, for a terminal or a file.

It runs for each request, so a line is one formatted string: rich renders the coloured words only once, at the start.
"""

from typing import TextIO

from rich.console import Console
from rich.text import Text

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.log.writer import Writer
from bestbefore.addon.admin.sanitize import bare_url, plain_word
from bestbefore.addon.admin.units import size, span, utc
from bestbefore.addon.engine.outcome import Outcome

_STYLES = {
    Outcome.HIT: "green",
    Outcome.VALIDATED: "cyan",
    Outcome.UPDATED: "yellow",
    Outcome.REFETCHED: "cyan",
    Outcome.PASSED_ON: "bold yellow",
    Outcome.MISS: "",
    Outcome.BYPASS: "dim",
    Outcome.STALE: "bold magenta",
    Outcome.REFUSED: "bold red",
}
_VERDICT_WIDTH = max(len(outcome) for outcome in Outcome)
_REASON_WIDTH = len("stale-while-revalidate")  # the longest of them

HEADING = (
    f"{'time (UTC)':<20}  {'verdict':<{_VERDICT_WIDTH}} {'reason':<{_REASON_WIDTH}} "
    f"{'ttl':>6} code {'bytes':>6} {'took':>6}  URL"
)


class RequestLines:
    """The line of each request for people; with colours if a stream is a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._second, self._second_text = -1, ""
        console = Console(file=stream, highlight=False)
        self._verdicts = {
            outcome: _rendered(console, f"{outcome:<{_VERDICT_WIDTH}}", style) for outcome, style in _STYLES.items()
        }
        self.heading = _rendered(console, HEADING, "dim") if console.is_terminal else None
        """The line above them; None where there is no terminal."""

    def line(self, answered: Answered) -> str:
        """Return the line of a request without newline: printable ASCII and colours."""
        second = int(answered.time_s)
        if second != self._second:
            self._second, self._second_text = second, utc(second)
        ttl = "-" if answered.ttl_s is None else span(answered.ttl_s)
        method = "" if answered.method == "GET" else plain_word(answered.method[:20]) + " "
        return (
            f"{self._second_text}  {self._verdicts[answered.outcome]} {answered.reason:<{_REASON_WIDTH}} {ttl:>6} "
            f"{answered.status:>4} {size(answered.sent_bytes):>6} {span(answered.duration_s):>6}  "
            f"{method}{bare_url(answered.url)}{' (background)' if answered.background else ''}"
            f"{'' if answered.complete else ' (truncated)'}"
            f"{f' (because {bare_url(answered.because)} changed)' if answered.because else ''}"
        )


class RequestLog(RequestLines):
    """Writes a line for each request to a stream, and a heading first, if that is a terminal."""

    def __init__(self, stream: TextIO, writer: Writer, *, heading: bool = True) -> None:
        """`writer` writes to `stream`, which is only checked for being a terminal; only that has a heading."""
        super().__init__(stream)
        self._writer = writer
        if heading and self.heading is not None:
            writer.write(self.heading + "\n")

    def add(self, answered: Answered) -> None:
        """Queue the line of a request. Never raises and never waits."""
        self._writer.write(self.line(answered) + "\n")


def _rendered(console: Console, text: str, style: str) -> str:
    """Return the text with the escape sequences of a style; without them if the console is not a terminal."""
    with console.capture() as capture:
        console.print(Text(text, style), end="", soft_wrap=True)
    return capture.get()
