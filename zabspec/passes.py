"""Record the passes that processes gave up, beside the observed history, where a property needs them.

What a process delivers in its next pass it delivers again. That changes nothing where deliveries are idempotent, so the
observed history has the longest pass alone; an application that does again what is delivered again needs them all.
"""

from __future__ import annotations

from zabspec.language import NODE, Field, Int, Role, Seq
from zabspec.language.python.lang import Node, State


def pass_fields(txns: int, most: int) -> tuple[Field, ...]:
    """Return the field that has the passes.

    Args:
        txns: transactions that may be abcast.
        most: passes that a process may give up after a delivery.
    """
    passes = Seq(Int(0, txns, "--txns"), most, "--timeouts")
    doc = "how many transactions it delivered in each pass that it gave up, if any"
    return (Field("given_up", passes, Role.GHOST, (NODE,), doc, observed=True),)


def note_pass(s: State, p: Node) -> None:
    """Record the length of p's pass at its end; a pass without a delivery does not count."""
    if s.pass_length[p] > 0:
        s.given_up[p].append(s.pass_length[p])
