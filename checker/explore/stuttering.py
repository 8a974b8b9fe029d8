"""Stuttering receipts: what they are, and when an exploration may leave them out (docs/explanation/reductions.md).

Over datagrams that may take any time, a receipt stutters if it took one message out of those in flight and did
nothing else: it sent nothing, lost nothing, overtook nothing, wrote nothing and observed nothing. The message may as
well take longer. The state in which it is still in flight has every step of the state without it, and these steps do
the same there. So an exploration may leave stuttering receipts out, unless a property can see what is in flight.

`STUTTERS` is the definition for machine code, `stutters` the same for the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from checker.explore.result import NONE_THERE
from invariants.registry import TERMINAL, Property
from zabspec.language.layout import derive
from zabspec.language.layout.schema import Layout, Role
from zabspec.worlds.steps import RECEIVE

if TYPE_CHECKING:
    from zabspec.language.front.frontend import FrontEnd
    from zabspec.language.python.reference import StateView
    from zabspec.model import Model

EVERY_STEP = "--reduction none"
IN_LINE = "ahead"  # of a message: the number of earlier ones between the same two processes in flight


# --- which receipts stutter ------------------------------------------------------------------------


def stutters_text(layout: Layout) -> str:
    """Return the kernel source of `stutters`: whether a step was a stuttering receipt.

    The step received a message that overtook none, and nothing was lost. All else that a receipt does to the bag is to
    append what it sends: with one message less it sent nothing. It accepted no proposal, which is all that a step
    observes beside the state. And every field has its previous value: those of processes, ghosts, disks, budgets.

    Args:
        layout: of the states that are compared.
    """
    lines = ["def stutters(before: State, after: State) -> bool:"]
    if not derive.may_stutter(layout):
        return "\n".join([*lines, "    return False"])
    ((bag, _),) = derive.bags(layout)
    lines += [
        f"    if after.event != {RECEIVE} or after.event_message.{IN_LINE} != 0 or after.accepts != 0:",
        "        return False",
        "    a = as_bytes(before)",
        "    b = as_bytes(after)",
        f"    if b[{bag}] + 1 != a[{bag}]:",
        "        return False",
        "    d = 0",
    ]
    for at, mask in derive.words_outside_bags(layout, counts=False):
        both = f"(load_word(a, {at}) ^ load_word(b, {at}))"
        lines.append(f"    d = d | {both if mask == -1 else f'({both} & {mask})'}")
    return "\n".join([*lines, "    return d == 0"])


def stutters(layout: Layout, before: StateView, after: StateView) -> bool:
    """Return whether a step was a stuttering receipt: the plain reading of `stutters_text`.

    Args:
        layout: of both states.
        before: the state that the step was taken in.
        after: the state after it, with its step annotations.
    """
    if not derive.may_stutter(layout):
        return False
    if after.event != RECEIVE or getattr(after.event_message, IN_LINE) != 0 or after.accepts != 0:
        return False
    sent = len(after.in_flight) + 1 - len(before.in_flight)
    return sent == 0 and derive.outside_mail(layout, before.key()) == derive.outside_mail(layout, after.key())


# --- when they may be left out ---------------------------------------------------------------------


def why_every_receipt(model: Model, properties: Iterable[Property], front: FrontEnd) -> str:
    """Return why stuttering receipts of a model are steps like others; empty if they may be left out.

    Args:
        model: what is explored.
        properties: what is judged.
        front: has their names.

    Raises:
        LanguageError: one is outside the language.
    """
    c = model.configuration
    if not derive.may_stutter(model.program.layout):
        return f"{NONE_THERE} over {model.world.name}, network {c.network}"
    for p in properties:
        if p.of == TERMINAL:
            return f"{p.name} is about terminal states"
        if reads_mail(model, p, front):
            return f"{p.name} reads what is in flight"
    return ""


def reads_mail(model: Model, p: Property, front: FrontEnd) -> bool:
    """Return whether a property, or its witness, can detect that a message is no longer in flight.

    A property of every message in flight is judged message by message: if a message is gone, it is evaluated on one
    less, and holds for the others if it held for them before. This requires that its value for a message does not
    depend on others, as the number of messages ahead of it would.
    """
    of_each = model.protocol.text.through  # of every message, by what asks it
    mail = {f.name for f in model.program.layout.schema.fields if f.role is Role.NETWORK}
    for name in (of_each.get(p.holds.__name__, p.holds.__name__), p.witness.__name__):
        front.function(name)
        if front.program.reads[name] & mail:
            return True
    return False
