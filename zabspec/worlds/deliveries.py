"""Record what a step delivers in the step's annotations, where a property of deliveries is checked at the delivery.

This overrides the history's `note_delivery` and the world's `begin_step`, as `zabspec/passes.py` overrides `note_pass`.
"""

from __future__ import annotations

from zabspec.language import Field, Role, SetOf
from zabspec.language.python.lang import Node, State, Txn
from zabspec.worlds.step_annotations import begin_step as begin_plain_step


def delivery_fields(txns: int) -> tuple[Field, ...]:
    """Return the field that says what the step just taken delivers.

    Args:
        txns: transactions that may be abcast.
    """
    doc = "what it delivers, to whomever (index = value - 1)"
    return (Field("delivered_now", SetOf(txns), Role.SCRATCH, (), doc),)


def note_delivery(s: State, t: Txn) -> None:
    """Record that a transaction is delivered; one without an identity was never abcast."""
    if t.value > 0:
        s.delivered_now.add(t.value - 1)


def begin_step(s: State, word: int, a: Node, b: Node) -> None:
    """Begin a step, and clear the deliveries of the last one."""
    begin_plain_step(s, word, a, b)
    s.delivered_now.clear()
