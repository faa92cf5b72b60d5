"""The description of a trace in parts: the file `manifest.json` in its folder."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.whole_file import whole_file

MANIFEST = "manifest.json"
VERSION = 1
BY_OBJECT = "object"


@dataclass(frozen=True, slots=True)
class TracePart:
    """A part of a trace: two Parquet files, which can also be given as `--updates` and `--requests`."""

    updates: str
    """The name of the file of updates, in the folder of the trace."""
    requests: str
    """The name of the file of requests."""
    update_rows: int
    request_rows: int
    digest: str
    """A digest of the events."""


@dataclass(frozen=True, slots=True)
class PartedTrace:
    """A trace in parts."""

    folder: Path
    by: str
    """What is never divided: `object`, or the groups of a `Grouping`, `prefix` or `domain`."""
    first_s: float
    """The time of the earliest event, Unix seconds."""
    last_s: float
    """The time of the latest event."""
    parts: tuple[TracePart, ...]

    @property
    def requests(self) -> int:
        return sum(part.request_rows for part in self.parts)

    @property
    def updates(self) -> int:
        return sum(part.update_rows for part in self.parts)

    def write(self) -> None:
        """Write the manifest, which makes the folder a trace. Raises OSError."""
        known = {"version": VERSION, "by": self.by, "first_s": self.first_s, "last_s": self.last_s}
        text = json.dumps({**known, "parts": [asdict(part) for part in self.parts]}, indent=1)
        with whole_file(self.folder / MANIFEST) as file:
            file.write(f"{text}\n".encode())

    @classmethod
    def read(cls, folder: Path) -> "PartedTrace":
        """Read the manifest of a folder. Raises TraceError."""
        path = folder / MANIFEST
        try:
            given = json.loads(path.read_text())
            if given["version"] != VERSION:
                raise TraceError(f"{path}: version {given['version']}: expected {VERSION}; convert the trace once more")
            parts = tuple(TracePart(**part) for part in given["parts"])
            return cls(folder, str(given["by"]), float(given["first_s"]), float(given["last_s"]), parts)
        except FileNotFoundError:
            raise TraceError(f"{path}: no such file: expected one, from bestbefore convert --parts N") from None
        except OSError as error:
            raise TraceError(f"{path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise TraceError(f"{path}: not the manifest of a trace in parts: {error}") from None
