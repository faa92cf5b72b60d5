"""How long to wait before a worker that has ended is started again."""

FIRST_S = 0.05
LONGEST_S = 30.0
STEADY_S = 10.0
"""A worker that ran for this time is started again at once."""


class Pauses:
    """The pauses of one worker: doubled each time that it ends soon. Time is an argument."""

    def __init__(self) -> None:
        self._next_s = FIRST_S

    def after(self, ran_s: float) -> float:
        """Return the pause after the worker ran for some seconds."""
        if ran_s > STEADY_S:
            self._next_s = FIRST_S
        pause_s, self._next_s = self._next_s, min(2 * self._next_s, LONGEST_S)
        return pause_s
