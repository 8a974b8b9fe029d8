"""Decide which models may be explored with reduction, and why others may not (docs/explanation/reductions.md).

This module imports nothing of the reductions: every exploration calls it, and few use them.
"""

from __future__ import annotations

from types import FunctionType

from zabspec.language.layout.schema import Role
from zabspec.model import Model


def why_not_narrowed(model: Model) -> str:
    """Return why every state of a model is visited, in a sentence; empty if fewer are sufficient."""
    if model.world.conventions(model.configuration, model.union) is None:
        c = model.configuration
        return f"the world of {model.world.name} with {c.network} channels declares no two steps to commute"
    if why := why_not_tried(model):
        return why
    world = model.world.conventions(model.configuration, model.union)
    names, fields = model.program.namespace, model.program.layout.fields
    if world is not None and not {world.follows, world.role} <= fields.keys():
        return f"the world's {world.follows} and {world.role} are not among the fields"
    for name in (*world.labels, *world.decoders) if world else ():
        own = getattr(names.get(name), "__module__", "")
        if name in names and isinstance(names[name], FunctionType) and own not in model.world.trusted:
            return f"{own} has a function {name} in the place of the world's"
    return ""


def why_not_tried(model: Model) -> str:
    """Return a feature of a model with which no reduction was tried, in a sentence; empty if there is none."""
    protocol, c = model.protocol, model.configuration
    for is_so, why in (
        (protocol.elects, "an election is a step (elects)"),
        (bool(c.start), "runs begin in a start state (starts)"),
        # which process accepts first then decides whether a transaction is chosen: two `accept` do not commute
        (bool(c.system and not c.system.grows), "a superset of a quorum may not be a quorum (a weight below zero)"),
        (bool(c.merged_by_promise), f"steps are merged by promise ({', '.join(c.merged_by_promise)})"),
        (any(f.disk for f in model.parts.fields), "a process has something on a disk (on_disk)"),
    ):
        if is_so:
            return why
    return why_not_compared(model)


def why_not_compared(model: Model) -> str:
    """Return a feature of a model for which reductions are not yet compared with the second semantics; empty if none.

    Reductions are derived for these features, and were not compared on enough random protocols
    (docs/explanation/reductions.md, Independent steps).
    """
    protocol, c = model.protocol, model.configuration
    for is_so, why in (
        (not protocol.declared.bounded_by_world, "it declares its own budgets (budgets, and not bounded_by_world)"),
        (bool(c.budgets or c.parameters), "it has budgets or parameters of its own (budgets, parameters)"),
        (bool(protocol.actions), "processes take internal steps (@action)"),
        (any(f.role is Role.SHARED for f in model.parts.fields), "processes share a field (shared)"),
        (bool(protocol.changes), "the environment takes steps (@environment_step)"),
        (model.crashes, "a field of the world tracks which processes are down (no is_down)"),
        (not protocol.transactions, "nothing is abcast (no transactions)"),
    ):
        if is_so:
            return why
    return ""
