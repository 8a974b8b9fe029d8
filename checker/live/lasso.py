"""A fair run that stays in a component: the loop in the graph, and the run told in steps of the model.

The loop is made short, and not said to be the shortest there is: going through every class that has to be taken, by the
shortest way to the next, is a tour, and tours are not searched for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from checker.live.graph import CLASS_AT, TARGET, UNFAIR, Components, Graph
from traces.record.lasso import Lasso
from zabspec.language.derive import Permutations, in_order
from zabspec.live.phase import class_of
from zabspec.model import Configuration
from zabspec.worlds.steps import NUMBERED

if TYPE_CHECKING:
    from checker.live.run import LiveRun, Waits

__all__ = ["Told", "lasso_of", "loop_at"]

Edge = tuple[int, int]  # its number, and where it leads


def edges_in(g: Graph, c: Components, v: int) -> Iterator[tuple[int, int, int]]:
    """The edges of a node within its component: number, target, class."""
    for e in range(g.edge_begin[v], g.edge_end[v]):
        w = g.edge[e] & TARGET
        if c.component[w] == c.component[v]:
            yield e, w, g.edge[e] >> CLASS_AT


def way(g: Graph, c: Components, v: int, wanted: int, at: int) -> list[Edge]:
    """The shortest way from a node on within its component that does justice to a class: over an edge of it, or to a
    node in which it is not possible; or, without a class (-1), the shortest way with an edge to the node `at`."""
    before: dict[int, tuple[int, Edge]] = {}
    ahead = deque([v])
    seen = {v}
    while ahead:
        u = ahead.popleft()
        for e, w, kind in edges_in(g, c, u):
            done = w == at if wanted < 0 else kind == wanted or not g.possible[w] >> wanted & 1
            if done:
                out = [(e, w)]
                while u != v:
                    u, edge = before[u]
                    out.insert(0, edge)
                return out
            if w not in seen:
                seen.add(w)
                before[w] = (u, (e, w))
                ahead.append(w)
    raise AssertionError("the component is not fair, or no component")


def unjust(g: Graph, at: int, loop: Sequence[Edge], asked: int) -> int:
    """The classes that a run which ends in this loop does not do justice to: always possible, and never taken."""
    always = asked & g.possible[at]
    for e, w in loop:
        always &= g.possible[w]
        kind = g.edge[e] >> CLASS_AT
        if kind != UNFAIR:
            always &= ~(1 << kind)
    return always


def loop_at(g: Graph, c: Components, at: int, asked: int) -> tuple[Edge, ...]:
    """A loop through a node of a fair component that does justice to every class; empty: the run may end there."""
    if not unjust(g, at, (), asked):
        return ()
    tour: list[Edge] = []
    here = at
    while left := unjust(g, at, tour, asked):
        part = way(g, c, here, (left & -left).bit_length() - 1, at)
        tour += part
        here = part[-1][1]
    if here != at:
        tour += way(g, c, here, -1, at)
    plain = way(g, c, at, -1, at)
    return tuple(plain if not unjust(g, at, plain, asked) and len(plain) <= len(tour) else tour)


# --- told in steps of the model ------------------------------------------------------------------


@dataclass(frozen=True)
class Told:
    """A run that a process waits in for ever, in steps of the model.

    Attributes:
        configuration: in which its steps are steps of the world: giving up costs a timeout there, and there are enough.
        schedule: all steps, of the loop once.
        lasso: what is said of it.
    """

    configuration: Configuration
    schedule: tuple[int, ...]
    lasso: Lasso


def lasso_of(run: LiveRun, found: Waits) -> Told:
    """The run of the model that a run in the graph stands for.

    Raises:
        AssertionError: the graph is not what the model does.
    """
    code, g, live = run.code, found.graph, run.live
    origin = g.origin[found.path[0]]
    number, move = origin & ((1 << 40) - 1), origin >> 40
    which, named = run.moves[move]
    depth, index = place_of(number - 1, live.exploration.levels)
    prefix = run.explorer.schedule_to(depth, index)
    state = state_after(run, prefix)
    renaming = renaming_to(run, found, state, which)
    p = Permutations(code.nodes).all[renaming]
    back = {p[k]: k for k in range(code.nodes)}
    real = back[named] if named >= 0 else -1
    words: list[int] = []
    walked: list[tuple[int, int]] = []  # class (-1: any) and node
    walked += [(-1, v) for v in found.path[1:]]
    walked += [(g.edge[e] >> CLASS_AT, w) for e, w in found.loop]
    x = code.stable(state)
    for kind, v in walked:
        wanted = in_order(code.layout, node_state(run, found, v))
        x, word = next(
            (after, word)
            for word, after in code.stable_steps(x, real)
            if in_order(code.layout, code.stable(after, renaming)) == wanted
            and kind in (-1, class_number(run, word, p))
        )
        words.append(word)
    schedule = (*prefix, *words)
    named_now = real if named >= 0 else None
    configuration = roomy(run, prefix, words)
    loop = len(schedule) - len(found.loop) if found.loop else None
    goal = found.goal
    lasso = Lasso(goal.name, goal.statement, goal.source, back[found.process], named_now, len(prefix), loop)
    return Told(configuration, schedule, lasso)


def place_of(number: int, levels: Sequence[int]) -> tuple[int, int]:
    """The depth of a state of the fault phase by its number, and which of its level it is."""
    for depth, count in enumerate(levels):
        if number < count:
            return depth, number
        number -= count
    raise AssertionError("there is no such state")


def state_after(run: LiveRun, words: Sequence[int]) -> bytes:
    """The state that a schedule leads to."""
    code = run.code
    state = code.state(code.model.program.initial().key())
    for word in words:
        code.take(state, word)
    return bytes(state[: code.layout.size])


def node_state(run: LiveRun, found: Waits, v: int) -> bytes:
    """A node's state."""
    code = run.code
    to = code.state(b"")
    code.unpack_node(found.data.address, found.graph.at[v], to)
    return bytes(to[: code.layout.size])


def renaming_to(run: LiveRun, found: Waits, state: bytes, which: int) -> int:
    """The renaming that makes a state the first one of the path, its budgets aside; `which` is tried first."""
    code, wanted = run.code, in_order(run.code.layout, node_state(run, found, found.path[0]))
    every = range(len(Permutations(code.nodes).all)) if code.symmetry else (0,)
    for k in (which, *every):
        if in_order(code.layout, code.stable(state, k)) == wanted:
            return int(k)
    raise AssertionError("no renaming of the state is the node's")


def class_number(run: LiveRun, word: int, p: Sequence[int]) -> int:
    """The class of a step, renamed, by its number."""
    found = class_of(run.code.model, word)
    return UNFAIR if found is None else run.code.classes.index(found.renamed(p))


def roomy(run: LiveRun, prefix: Sequence[int], words: Sequence[int]) -> Configuration:
    """The configuration with as many timeouts and heartbeats as the run takes, and as much room as there was."""
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
    if model.protocol.text is None:
        room["channel"] = max(model.channels)
    return replace(c, **more, **room)
