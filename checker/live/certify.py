"""A run in which somebody waits for ever, held against the CPython world by itself: neither the graph nor machine code
has a part in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from checker.live.code import FairClass, LiveCode
from checker.live.lasso import Lasso
from invariants.binding import full_namespace
from zabspec.language import reference
from zabspec.language.derive import in_order
from zabspec.language.reference import StateView
from zabspec.live.goals import Goal
from zabspec.live.worlds import IN_WORLDS
from zabspec.model import Model
from zabspec.worlds.steps import BUDGETS, HEARTBEAT, NUMBERED, RECEIVE

__all__ = ["NotFair", "Overtaken", "certify", "stable_choices"]


class NotFair(Exception):
    """A run is not what it is said to be: one sentence says how."""


class Overtaken(NotFair):
    """It is, but that a message is overtaken by others for ever."""


def live_world(code: LiveCode, model: Model) -> dict[str, Any]:
    """A program and what is said of its stable phase, in the CPython world."""
    program = model.program
    names = {**full_namespace(model), **code.live_names}
    for module in code.modules:
        names = {**{k: v for k, v in vars(module).items() if isinstance(v, int)}, **names}
    return reference.load(program.layout, names, program.types, program.steps)


def without_budgets(s: StateView) -> StateView:
    """A state with nothing left of the world's budgets."""
    out = s.copy()
    for name in BUDGETS:
        if f"{name}_left" in out.layout.fields:
            setattr(out, f"{name}_left", 0)
    return out


def stable_choices(names: dict[str, Any], model: Model, s: StateView, named: int) -> list[int]:
    """The step words that are possible in the stable phase, without their choices."""
    bare, out = without_budgets(s), [0] * (model.most_steps + 1)
    names["enabled"](bare, out)
    words = [word for word in out[1 : out[0] + 1] if names["stable_takes"](bare, word, named)]
    gives_up = IN_WORLDS[model.world.name].gives_up
    for p in range(model.configuration.nodes):
        if names["stable_gives_up"](bare, p, named):
            words.append(gives_up << 24 | p << 16)
        if names["stable_beats"](bare, p):
            words.append(HEARTBEAT << 24 | p << 16)
    return words


def certify(code: LiveCode, lasso: Lasso, goal: Goal) -> None:
    """Check that a run is one of the fault phase and then of the stable phase, fair, and that a process waits in it for
    ever from its loop on.

    Raises:
        NotFair: it is not.
    """
    model = Model(lasso.configuration)
    names = live_world(code, model)
    named = -1 if lasso.named is None else lasso.named
    s = model.program.initial()
    budgets = dict(code.model.configuration.budget)
    possible: list[frozenset[FairClass]] = []
    taken: list[FairClass | None] = []
    states: list[bytes] = []
    mail: list[Counter[bytes]] = []
    arrived: Counter[bytes] = Counter()
    for k, word in enumerate(lasso.schedule):
        kind, stable = NUMBERED[word >> 24 & 255], k >= lasso.moment
        if k == lasso.moment and not names["stable_begins"](without_budgets(s), named):
            raise NotFair(f"the stable phase cannot begin after step {k}")
        if stable:
            if word & 0xFFFFFFFF not in stable_choices(names, model, s, named):
                raise NotFair(f"step {k + 1} is not possible in the stable phase")
        elif spent := model.spends(kind, word & 255):
            budgets[spent] -= 1
            if budgets[spent] < 0:
                raise NotFair(f"step {k + 1} spends a budget that is spent")
        if k >= lasso.loops:
            note(code, names, model, s, named, possible, states)
            taken.append(code.class_of(word))
            mail.append(in_flight(s))
            arrived.update(message_of(s, word))
            check_waits(names, goal, s, lasso, named, k)
        names["apply"](s, word)
        if stable and not names["stable_lasts"](without_budgets(s), named):
            raise NotFair(f"after step {k + 1} what is assumed is no longer so")
    if lasso.moment == len(lasso.schedule) and not names["stable_begins"](without_budgets(s), named):
        raise NotFair("the stable phase cannot begin where the run ends")
    note(code, names, model, s, named, possible, states)
    check_waits(names, goal, s, lasso, named, len(lasso.schedule))
    if states[0] != states[-1]:
        raise NotFair("the last step of the loop does not lead back to where it begins")
    if always := frozenset.intersection(*possible) - set(taken):
        said = "; ".join(sorted(c.said(model.protocol.actions) for c in always))
        raise NotFair(f"the run is not fair: for ever possible and never done: {said}")
    if mail and any(all(m[x] for m in mail) and not arrived[x] for x in mail[0]):
        raise Overtaken("a message is overtaken by others for ever")


def note(
    code: LiveCode,
    names: dict[str, Any],
    model: Model,
    s: StateView,
    named: int,
    possible: list[frozenset[FairClass]],
    states: list[bytes],
) -> None:
    """Note the classes that are possible in a state, and the state."""
    found = (code.class_of(word) for word in stable_choices(names, model, s, named))
    due = {FairClass("own", p) for p in range(code.nodes) if names["stable_waits"](without_budgets(s), p, named)}
    due |= {FairClass("heartbeat", p) for p in range(code.nodes) if names["stable_beat_due"](without_budgets(s), p)}
    possible.append(frozenset(c for c in found if c is not None) | due)
    states.append(in_order(s.layout, without_budgets(s).key()))


def check_waits(names: dict[str, Any], goal: Goal, s: StateView, lasso: Lasso, named: int, k: int) -> None:
    """
    Raises:
        NotFair: the process does not wait.
    """
    given: Sequence[int] = (lasso.process, named) if goal.names_one else (lasso.process,)
    if not names[goal.called](without_budgets(s), *given):
        raise NotFair(f"p{lasso.process} does not wait after step {k}")


def in_flight(s: StateView) -> Counter[bytes]:
    """The messages that may overtake each other: those on their way to processes that are up."""
    if "in_flight" not in s.layout.fields:
        return Counter()
    return Counter(bytes(m.raw()) for m in s.in_flight if m.ahead == 0)


def message_of(s: StateView, word: int) -> list[bytes]:
    """The message that a step receives."""
    if "in_flight" not in s.layout.fields or word >> 24 & 255 != RECEIVE:
        return []
    return [bytes(s.in_flight[word & 255].raw())]
