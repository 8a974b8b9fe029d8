"""Define a clause of the inductive invariant: a property of states that is checked only by request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from invariants.core import some_delivery
from invariants.registry import STATE, Property


def clause(holds: Callable[..., Any], source: str) -> Property:
    """Return a clause named after its function; its witness is that something is delivered."""
    name = holds.__name__.replace("_", "-")
    return Property(name, STATE, source, "", holds, some_delivery, default=False, protocols=("zab",))
