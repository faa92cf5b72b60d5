"""Checks of `bestbefore doctor` that need no proxy: the state folder, the disk, the clock."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from bestbefore.addon.admin.units import size, span
from bestbefore.addon.clock import VARIABLE, Clock, FastClock
from bestbefore.addon.commands.upkeep.finding import Finding
from bestbefore.addon.config.settings import Settings

SPARE_BYTES = 256 << 20
"""Less free space is too little: the store rewrites its file, and needs as much again for a moment."""
AHEAD_S = 60.0
"""How far files may be ahead of the clock: file systems of other machines have clocks of their own."""


def machine_findings(settings: Settings, clock: Clock) -> Iterator[Finding]:
    """Yield the findings on the state folder, the disk and the clock."""
    yield _state_finding(settings.state)
    yield _disk_finding(settings)
    yield _clock_finding(settings.state, clock)


def _state_finding(state: Path) -> Finding:
    if not state.exists():
        parent = next(folder for folder in state.parents if folder.exists())
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            return Finding("state", "ok", f"{state}: the first proxy creates it")
        return Finding("state", "failed", f"{state} cannot be created in {parent}", "give a folder with --state")
    try:
        about = state.stat()
        writable = os.access(state, os.W_OK | os.X_OK)
    except OSError as error:
        return Finding("state", "failed", f"{state}: {error.strerror}", "give another folder with --state")
    if not stat.S_ISDIR(about.st_mode) or not writable:
        why = "is not writable for this user" if stat.S_ISDIR(about.st_mode) else "is not a folder"
        return Finding("state", "failed", f"{state} {why}", "run this as the user of the proxy, or change its --state")
    if about.st_uid != os.geteuid():
        return Finding(
            "state", "warning", f"{state} belongs to user {about.st_uid}, not to the one who runs this",
            "run this as the user of the proxy: files that another creates there, the proxy may not read",
        )  # fmt: skip
    return Finding("state", "ok", str(state))


def _disk_finding(settings: Settings) -> Finding:
    folder = next(folder for folder in (settings.state, *settings.state.parents) if folder.is_dir())
    try:
        free, about = shutil.disk_usage(folder).free, os.statvfs(folder)
    except OSError as error:
        return Finding("disk", "failed", f"{folder}: {error.strerror}")
    found = f"{size(free)} free for {settings.state}"
    if free < SPARE_BYTES:
        advice = "make room, or move the state folder with --state: a full disk stops learning and storing"
        return Finding("disk", "failed", found, advice)
    if about.f_files and not about.f_favail:
        return Finding("disk", "failed", f"no file can be created in {folder}: no inodes are left", "remove files")
    if settings.store != "embedded":
        return Finding("disk", "ok", found)
    taken = sum(about.st_size for about in _about(settings.state.glob("bodies/*")))
    if free + taken < settings.files_max:
        advice = "lower files_max in [proxy] of the configuration, or make room"
        return Finding("disk", "warning", f"{found}; stored files may take {size(settings.files_max)}", advice)
    return Finding("disk", "ok", found)


def _clock_finding(state: Path, clock: Clock) -> Finding:
    if isinstance(clock, FastClock):
        return Finding("clock", "warning", f"{VARIABLE} runs {clock.factor:g} times faster than real time", "unset it")
    now_s = clock.now()
    times = [about.st_mtime for about in _about((state, *state.glob("*"), *state.glob("valkey/*")))]
    ahead_s = max(times, default=now_s) - now_s
    if ahead_s > AHEAD_S:
        found = f"the clock is {span(ahead_s)} behind files of the proxy"
        return Finding("clock", "failed", found, "set the clock; see that NTP runs")
    return Finding("clock", "ok", "not behind the files of the proxy" if times else "nothing to compare it with yet")


def _about(paths: Iterable[Path]) -> Iterator[os.stat_result]:
    """Yield what is known of files; a running proxy may remove some meanwhile."""
    for path in paths:
        with suppress(OSError):
            yield path.lstat()
