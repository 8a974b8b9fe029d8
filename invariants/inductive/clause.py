"""What a clause of the inductive invariant is: a property of states, judged only when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from invariants.core import some_delivery
from invariants.registry import STATE, Property

__all__ = ["clause"]


def clause(holds: Callable[..., Any], source: str) -> Property:
    """A clause, named after the function that says it; its witness is that something is delivered."""
    name = holds.__name__.replace("_", "-")
    return Property(name, STATE, source, "", holds, some_delivery, default=False, protocols=("zab",))
