"""The daily rotation of the request log, and the removal of old files."""

import logging
import re
from contextlib import suppress
from pathlib import Path

from bestbefore.addon.admin.units import utc
from bestbefore.policies.units import DAY_S

logger = logging.getLogger(__name__)

_SUFFIX = re.compile(r"\.(\d{4}-\d\d-\d\d)(?:\.\d+)?")
"""What is appended to the name of the log: the day (UTC) of its lines, and a number if there is such a file already."""


class LogRotation:
    """Renames the log after each day (UTC), and removes what is older than it is to be kept.

    `access.log` becomes `access.log.2026-11-28`. For one process; those that write the log must open it again then.
    """

    def __init__(self, file: Path, keep_s: float, now_s: float) -> None:
        """`keep_s`: how long a file is kept after its day. A log that an earlier day has left is renamed by `turn`."""
        self._file = file
        self._keep_s = keep_s
        self._day = _day(now_s)
        with suppress(OSError):
            self._day = min(self._day, _day(file.stat().st_mtime))
        self._is_failing = False

    def turn(self, now_s: float) -> bool:
        """Whether the log was renamed, as another day has begun; old files are removed then. Never raises."""
        today = _day(now_s)
        if today <= self._day:
            return False
        try:
            is_renamed = self._rename()
            self._remove(now_s)
        except OSError as error:
            if not self._is_failing:
                logger.warning("%s cannot be rotated: %s; it is continued", self._file, error.strerror)
            self._is_failing = True
            return False
        self._day, self._is_failing = today, False
        return is_renamed

    def _rename(self) -> bool:
        """Rename the log, unless it is empty or missing; whether it was renamed."""
        with suppress(FileNotFoundError):
            if self._file.stat().st_size:
                target = self._file.with_name(f"{self._file.name}.{self._day}")
                number = 0
                while target.exists():  # the clock was set back
                    number += 1
                    target = self._file.with_name(f"{self._file.name}.{self._day}.{number}")
                self._file.rename(target)
                return True
        return False

    def _remove(self, now_s: float) -> None:
        oldest = _day(max(now_s - self._keep_s, 0.0))
        for path in self._file.parent.iterdir():
            if not path.name.startswith(self._file.name):
                continue
            suffix = _SUFFIX.fullmatch(path.name, len(self._file.name))
            if suffix is not None and suffix[1] < oldest:
                path.unlink(missing_ok=True)


def _day(time_s: float) -> str:
    return utc(time_s // DAY_S * DAY_S)[:10]
