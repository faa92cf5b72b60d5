"""A limit of bytes a second, with time as an argument."""


class RateLimit:
    """Spaces messages so that in any time of t seconds at most `bytes_per_s` * t bytes are sent, and one burst.

    A message may be larger than the burst: the next one waits the longer.
    """

    def __init__(self, bytes_per_s: float, burst_s: float = 1.0) -> None:
        """`burst_s`: how many seconds of silence are made up for."""
        self.bytes_per_s = bytes_per_s
        self._burst_s = burst_s
        self._paid_until_s = float("-inf")

    def wait_s(self, now_s: float) -> float:
        """Return how long the next message must wait."""
        return max(0.0, self._paid_until_s - now_s)

    def sent(self, size_bytes: int, now_s: float) -> None:
        """Count a message that was sent now, whether it had to wait or not."""
        self._paid_until_s = max(self._paid_until_s, now_s - self._burst_s) + size_bytes / self.bytes_per_s
