"""What a property is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from zabspec.authoring import Claim

__all__ = ["HISTORY", "STATE", "STEP", "Property", "property_named"]

HISTORY, STATE, STEP = "history", "state", "step"


@dataclass(frozen=True)
class Property:
    """A property and its witness.

    Attributes:
        name: as on the command line.
        of: `history` or `state` (holds(s), witness(s)) or `step` (holds(before, event, after)).
        source: where the paper states it.
        premise: what the witness shows, in words.
        default: whether it is judged unless named; a documented non-property is not.
        protocols: those whose state it speaks of; none: it speaks of what every protocol has, which is the
            observed history (`of` history) and beside it each process's stable `history` (`of` state).
    """

    name: str
    of: str
    source: str
    premise: str
    holds: Callable[..., Any]
    witness: Callable[..., Any]
    default: bool = True
    protocols: tuple[str, ...] = ()

    def judges(self, protocol: str) -> bool:
        """Whether it can be judged of runs of a protocol."""
        return not self.protocols or protocol in self.protocols

    @staticmethod
    def of_claim(claim: Claim, source: str) -> Property:
        """What the text of a protocol claims of itself."""
        return Property(
            claim.name, claim.over, source, claim.premise, claim.holds, claim.witness, default=not claim.inductive
        )

    @property
    def statement(self) -> str:
        """The paper's statement: the function's docstring."""
        return inspect.cleandoc(self.holds.__doc__ or "")


def property_named(name: str, properties: Iterable[Property]) -> Property:
    """The property of that name.

    Raises:
        KeyError: there is none.
    """
    for p in properties:
        if p.name == name:
            return p
    raise KeyError(name)
