"""Objects in parts, of which a search for the best division of a budget sees only what each part answers.

A question is a function of the columns of one part, which can be pickled; its answer is small. So parts may be arrays
in memory, or files that other processes read. The division that is found is a function of the columns of one part too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from bestbefore.policies.prefetch.allocation.columns import PartColumns
from bestbefore.policies.units import FloatArray

Division = Callable[[PartColumns], FloatArray]
"""A budget divided among all parts: the columns of one part, with n objects -> (n,) their refreshes per period."""
Divide = Callable[[float], Division]
"""A budget of contacts per period -> its division."""


class ObjectParts[C](Protocol):
    """Parts of type C, in a fixed order."""

    def ask[A](self, question: Callable[[C], A]) -> list[A]:
        """Return the answer of each part, in their order."""


@dataclass(frozen=True, slots=True)
class InMemory[C]:
    """Parts that this process holds."""

    parts: tuple[C, ...]

    def ask[A](self, question: Callable[[C], A]) -> list[A]:
        """Answer in this process; see `ObjectParts.ask`."""
        return [question(part) for part in self.parts]


@dataclass(frozen=True, slots=True)
class Derived[B, C]:
    """Parts of type C, each made of one of type B where a question is answered."""

    parts: ObjectParts[B]
    make: Callable[[B], C]

    def ask[A](self, question: Callable[[C], A]) -> list[A]:
        """Ask the parts of which these are made; see `ObjectParts.ask`."""
        return self.parts.ask(partial(_of_made, question, self.make))


def _of_made(question: Callable[[Any], Any], make: Callable[[Any], Any], part: Any) -> Any:
    return question(make(part))
