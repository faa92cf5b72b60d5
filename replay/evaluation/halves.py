"""The halves of the objects of a trace: a policy is tuned on one and reported on the other."""

from enum import StrEnum
from hashlib import blake2b


class Half(StrEnum):
    """A half of all objects, by a digest of the name of the object whose updates are used."""

    ALL = "all"
    """Both halves."""
    TUNING = "tuning"
    REPORTING = "reporting"

    def has(self, name: str) -> bool:
        """Whether an object is in this half."""
        if self is Half.ALL:
            return True
        odd = blake2b(name.encode(), digest_size=1).digest()[0] & 1
        return bool(odd) is (self is Half.REPORTING)
