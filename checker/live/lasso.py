"""Convert a fair run of the graph to steps of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from checker.live.graph import UNFAIR
from checker.live.loop import class_at
from traces.record.lasso import Lasso
from zabspec.language.layout.derive import in_order
from zabspec.language.python.reference import StateView
from zabspec.live.phase import class_of
from zabspec.model import Configuration
from zabspec.worlds.steps import NUMBERED

if TYPE_CHECKING:
    from checker.live.fair_runs import Waits
    from checker.live.run import LiveRun


@dataclass(frozen=True)
class StarvingRun:
    """A run in which a process waits forever, in steps of the model.

    Attributes:
        configuration: in which its steps are steps of the world: giving up costs a timeout there, and there are enough.
        schedule: all steps, those of the loop once.
        lasso: its description.
    """

    configuration: Configuration
    schedule: tuple[int, ...]
    lasso: Lasso


def lasso_of(run: LiveRun, found: Waits) -> StarvingRun:
    """Return the run of the model that a run in the graph represents.

    Raises:
        AssertionError: the graph differs from what the model does.
    """
    code, g, live = run.code, found.graph, run.live
    origin = g.origin[found.path[0]]
    number, move = origin & ((1 << 40) - 1), origin >> 40
    which, named = run.moves[move]
    depth, index = place_of(number - 1, live.exploration.levels)
    prefix = run.explorer.schedule_to(depth, index)
    state = state_after(run, prefix)
    p = renaming_to(run, found, state, which)
    back = {p[k]: k for k in range(code.nodes)}
    real = back[named] if named >= 0 else -1
    walked: list[Edge] = [Edge(v) for v in found.path[1:]]
    at = found.path[-1]
    for e, w in found.loop:
        walked.append(Edge(w, class_at(g, e), found.mail.received(at, e)))
        at = w
    words: list[int] = []
    x = code.stable(state)
    for edge in walked:
        x, word = step_of(run, found, x, real, edge, p)
        words.append(word)
    schedule = prefix.then(*words)
    named_now = real if named >= 0 else None
    configuration = roomy(run, prefix, words)
    loop = len(schedule) - len(found.loop) if found.loop else None
    goal = found.goal
    lasso = Lasso(goal.name, goal.statement, goal.source, back[found.process], named_now, len(prefix), loop)
    return StarvingRun(configuration, schedule, lasso)


def place_of(number: int, levels: Sequence[int]) -> tuple[int, int]:
    """Return the depth of a state of the fault phase by its number, and its index in the level."""
    for depth, count in enumerate(levels):
        if number < count:
            return depth, number
        number -= count
    raise AssertionError("there is no such state")


def state_after(run: LiveRun, words: Sequence[int]) -> bytes:
    """Return the state that a schedule leads to."""
    code = run.code
    state = code.state(code.model.begun_as(words).program.initial().key())
    for word in words:
        code.take(state, word)
    return bytes(state[: code.layout.size])


@dataclass(frozen=True)
class Edge:
    """An edge of the graph: the node that it leads to, its class (-1 for any), and the message received, if any."""

    to: int
    kind: int = -1
    message: bytes = b""


def step_of(run: LiveRun, found: Waits, x: bytes, named: int, edge: Edge, p: Sequence[int]) -> tuple[bytes, int]:
    """Return the step from a state that an edge represents, and the state after it.

    Args:
        named: the process that is named, as numbered in the state.
        p: the renaming that maps the states of the run to those of the graph.
    """
    code = run.code
    wanted = in_order(code.layout, code.node_state(found.graph, found.data, edge.to))
    flight: Sequence[Any] = ()
    if edge.message:
        flight = StateView(code.layout, code.stable(x, p)).in_flight  # a renaming keeps the places
    for word, after in code.stable_steps(x, named):
        if edge.kind not in (-1, class_number(run, word, p)):
            continue
        if edge.message and bytes(flight[word & 255].raw()) != edge.message:
            continue
        if in_order(code.layout, code.stable(after, p)) == wanted:
            return after, word
    raise AssertionError("no step of the model is the edge")


def renaming_to(run: LiveRun, found: Waits, state: bytes, which: Sequence[int]) -> Sequence[int]:
    """Return the renaming that maps a state to the first one of the path, apart from budgets.

    `which` is tried first; another follows from how both are mapped to the representative of their orbit.
    """
    code = run.code
    wanted = code.node_state(found.graph, found.data, found.path[0])
    there, here = code.renaming_of(wanted), code.renaming_of(code.stable(state))
    for p in (which, tuple(there.index(name) for name in here)):
        if in_order(code.layout, code.stable(state, p)) == in_order(code.layout, wanted):
            return p
    raise AssertionError("no renaming of the state is the node's")


def class_number(run: LiveRun, word: int, p: Sequence[int]) -> int:
    """Return the number of the class of a step under a renaming."""
    found = class_of(run.code.model, word)
    return UNFAIR if found is None else run.code.classes.index(found.renamed(p))


def roomy(run: LiveRun, prefix: Sequence[int], words: Sequence[int]) -> Configuration:
    """Return the configuration with as many timeouts and heartbeats as the run takes, and the same other bounds."""
    model = run.code.model
    c = model.configuration
    spent: dict[str, int] = {}
    for word in (*prefix, *words):
        budget = NUMBERED[word >> 24 & 255].spends
        spent[budget] = spent.get(budget, 0) + 1
    more: dict[str, Any] = {
        name: max(getattr(c, name), spent.get(name, 0)) for name in ("timeouts", "heartbeats") if spent.get(name)
    }
    room: dict[str, Any] = {}
    if model.protocol.transactions:
        room["max_epoch"] = model.epochs
    if model.protocol.declared.bounded_by_world:
        room["channel"] = max(model.channels)
    return replace(c, **more, **room)
