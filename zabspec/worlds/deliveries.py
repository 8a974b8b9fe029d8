"""What a step delivers, said by the step itself: where a property of deliveries is judged at the delivery.

It stands over the history's `note_delivery` and the world's `begin_step`, as `zabspec/passes.py` over `note_pass`.
"""

from __future__ import annotations

from zabspec.language import Field, Role, SetOf
from zabspec.language.lang import Node, State, Txn
from zabspec.worlds.step_annotations import begin_step as begin_plain_step

__all__ = ["begin_step", "delivery_fields", "note_delivery"]


def delivery_fields(txns: int) -> tuple[Field, ...]:
    """Return the field that says what the step just taken delivers.

    Args:
        txns: transactions that may be abcast.
    """
    doc = "what it delivers, to whomever (index = value - 1)"
    return (Field("delivered_now", SetOf(txns), Role.SCRATCH, (), doc),)


def note_delivery(s: State, t: Txn) -> None:
    """A transaction is delivered; one without an identity was never abcast."""
    if t.value > 0:
        s.delivered_now.add(t.value - 1)


def begin_step(s: State, word: int, a: Node, b: Node) -> None:
    """A step begins: what the last one delivered is gone, too."""
    begin_plain_step(s, word, a, b)
    s.delivered_now.clear()
