"""How long a process has waited for a processor."""

from pathlib import Path


def processor_wait_s(pid: int) -> float:
    """Return for how long the first thread of a process was ready to run but had no processor, s; 0.0 if unknown.

    Only Linux counts it (`/proc/PID/schedstat`).
    """
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
