"""The stable phase of a model, in the kernel language; compiled together with the program.

Its steps follow from the world's own `enabled` and `apply` and from the few functions of `zabspec/live/`: no budget
is left for faults, what an oracle may not report is left out, and a process that may give up does so at no cost.

What the program, `zabspec/live/` and `checker/live/code.py` bind is imported from `checker/explore/interface.py`.
"""

from __future__ import annotations

from checker.explore.interface import (
    BEATS, EXACT, GIVES_UP, MOST_STEPS, NODES, PACKED_LIMIT, RECEIPTS, RING_AT, STEPS_AT, TOTAL, apply, bytes_of,
    class_of, enabled, forget_budgets, hash_state, pack, stable_beat, stable_beat_due, stable_beats, stable_begins,
    stable_give_up, stable_gives_up, stable_lasts, stable_takes, stable_waits, unpack, waits_of,
)  # fmt: skip
from checker.explore.kernel import renamed
from checker.live.graph import CLASS_AT, PLACE_AT, UNFAIR, Graph, probe_nodes
from zabspec.language.python.lang import Bytes, Node, State, Words
from zabspec.language.python.memory import as_bytes, copy_bytes, load_word, state_at, store_word, words_at
from zabspec.language.layout.wrapping import wrap_mul

NODE_SALT = -7046029254386353131  # the fingerprint combines the state's and the named process


def stable_successors(s: State, named: Node, out: Bytes, most: int, work: Bytes) -> int:
    """Write every successor of a state in the stable phase, in order: a word, then the state with its annotations.

    The word is the step and its choice. Return the number of successors; -1 if a step meets an error, which is in
    `s.error`; -2 if there is no room.
    """
    steps = words_at(work, STEPS_AT)
    s.error = 0
    enabled(s, steps)
    count = steps[0]
    n = 0
    for k in range(count):
        if stable_takes(s, steps[1 + k], named):
            n = add_successors(s, steps[1 + k], 0, out, n, most)
            if n < 0:
                return n
    for p in range(NODES):
        if stable_gives_up(s, p, named):
            n = add_successors(s, (GIVES_UP << 24) | (p << 16), 1, out, n, most)
        if n >= 0 and stable_beats(s, p):
            n = add_successors(s, (BEATS << 24) | (p << 16), 2, out, n, most)
        if n < 0:
            return n
    if s.error != 0:
        return -1
    return n


def add_successors(s: State, word: int, how: int, out: Bytes, n: int, most: int) -> int:
    """Write the states that a step leads to, one for each of its choices; return the number of successors so far.

    Return -1 or -2 as `stable_successors` does.

    Args:
        how: the kind of step: the world's, giving up, or a leader's timer.
    """
    choice = 0
    choices = 1
    if s.error != 0:
        return -1
    while choice < choices:
        if n == most:
            return -2
        at = n * (TOTAL + 8)
        child = state_at(out, at + 8)
        copy_bytes(as_bytes(child), as_bytes(s), TOTAL)
        store_word(out, at, word | (choice << 32))
        if how == 0:
            apply(child, word | (choice << 32))
        elif how == 1:
            stable_give_up(child, word | (choice << 32))
        else:
            stable_beat(child, word | (choice << 32))
        if child.error != 0:
            s.error = child.error
            return -1
        choices = max(choices, child.choices)
        choice = choice + 1
        if choice <= child.choices:
            n = n + 1
    return n


def begin_stable(
    source: Bytes,
    offset: int,
    count: int,
    first: int,
    depth: int,
    moves: Words,
    data: Bytes,
    work: Bytes,
    perms: Bytes,
    g: Graph,
) -> int:
    """Enter states of the fault phase as those in which the stable phase may begin.

    Return the number of states entered.

    The offset of the next is written to `moves[0]`.

    Args:
        source: packed states, from `offset`; the first of them has number `first` of all that were reached, from 1.
        depth: of these states.
        moves: from 2 on, `moves[1]` times: where a renaming is in `perms`, and the process named in the renamed state.
        data: the packed states of the graph.
    """
    s = state_at(work, 0)
    image = state_at(work, RING_AT)
    done = 0
    while done < count and has_room(g, moves[1]):
        offset = offset + unpack(as_bytes(state_at(source, offset)), s)
        k = 0
        while k < moves[1]:
            renamed(s, image, bytes_of(perms, moves[2 + 2 * k]))
            forget_budgets(image)
            if stable_begins(image, moves[3 + 2 * k]):
                v = node_of(image, hash_state(image), moves[3 + 2 * k], data, g)
                if v >= 0:
                    if g.origin[v] == 0:
                        g.origin[v] = (first + done) | (k << 40)
                        g.depth[v] = depth
                        g.starts = g.starts + 1
            k = k + 1
        done = done + 1
    moves[0] = offset
    return done


def has_room(g: Graph, more: int) -> bool:
    """Return whether there is room for `more` further nodes, each with an edge."""
    return (
        g.nodes + more <= g.nodes_most
        and g.edges + more <= g.edges_most
        and 10 * (g.nodes + more) < 7 * g.places
        and g.used + (more + 1) * PACKED_LIMIT <= g.bytes_most
    )


def node_of(s: State, hashed: int, named: Node, data: Bytes, g: Graph) -> int:
    """Return the node of a state, which is new or known; -1 if another state has its fingerprint."""
    h = hashed ^ wrap_mul(named + 2, NODE_SALT)
    if h == 0:
        h = 1
    size = pack(s, bytes_of(data, g.used))
    place = probe_nodes(g, h)
    if g.mark[place] != 0:
        v = g.node_at[place]
        if g.name[v] != named + 1 or (EXACT and not same_bytes(data, g.at[v], g.used, size)):
            g.clash = 1
            return -1
        return v
    v = g.nodes
    g.mark[place] = h
    g.node_at[place] = v
    g.at[v] = g.used
    g.name[v] = named + 1
    g.used = g.used + size
    g.nodes = v + 1
    g.ahead[g.height] = v
    g.height = g.height + 1
    return v


def is_node(s: State, v: int, data: Bytes, g: Graph) -> bool:
    """Return whether a state that has the fingerprint of a node is that of the node; sure only if all are compared."""
    return not EXACT or same_bytes(data, g.at[v], g.used, pack(s, bytes_of(data, g.used)))


def same_bytes(data: Bytes, a: int, b: int, size: int) -> bool:
    """Return whether two runs of bytes are equal."""
    for k in range(size):
        if data[a + k] != data[b + k]:
            return False
    return True


def expand_stable(s: State, most: int, data: Bytes, out: Bytes, work: Bytes, g: Graph) -> int:
    """Find the edges of up to `most` nodes, the newest first.

    So a part is complete even if not all can be expanded. Return the number of nodes expanded: fewer, if there is no
    room for more, or an error ends it. `s`: room for a state, other than in `work`. A step that changes nothing is no
    edge, and makes no class possible; what is due and cannot be taken yet does.
    """
    done = 0
    while done < most and g.height > 0 and has_room(g, MOST_STEPS) and g.error == 0 and g.clash == 0:
        g.height = g.height - 1
        v = g.ahead[g.height]
        named = g.name[v] - 1
        unpack(bytes_of(data, g.at[v]), s)
        n = stable_successors(s, named, out, MOST_STEPS, work)
        if n < 0:
            g.error = s.error if n == -1 else -1
            g.error_node = v
            return done
        possible = 0
        here = hash_state(s)
        g.edge_begin[v] = g.edges
        only = class_followed(out, n) if g.narrow != 0 else -1
        k = 0
        while k < n:
            at = k * (TOTAL + 8)
            child = state_at(out, at + 8)
            kind = class_of(load_word(out, at))
            hashed = hash_state(child)
            if hashed == here and is_node(child, v, data, g):
                if kind != UNFAIR:
                    g.vain = g.vain | (1 << kind)
                k = k + 1
                continue
            if kind != UNFAIR:
                possible = possible | (1 << kind)
            if only >= 0 and kind != only:
                k = k + 1
                continue
            if stable_lasts(child, named):
                w = node_of(child, hashed, named, data, g)
                if w >= 0:
                    g.edge[g.edges] = w | (kind << CLASS_AT) | ((load_word(out, at) & 255) << PLACE_AT)
                    g.edges = g.edges + 1
            else:
                g.left_out = g.left_out + 1
            k = k + 1
        for p in range(NODES):
            if stable_waits(s, p, named) and not stable_gives_up(s, p, named):
                possible = possible | (1 << p)
            if stable_beat_due(s, p) and not stable_beats(s, p):
                possible = possible | (1 << (NODES + p))
        g.possible[v] = possible
        g.edge_end[v] = g.edges
        s.error = 0
        g.waits[v] = waits_of(s, named)
        if s.error != 0:
            g.error = s.error
            g.error_node = v
        g.expanded = g.expanded + 1
        done = done + 1
    return done


def class_followed(out: Bytes, n: int) -> int:
    """Return the only class of successors to follow if not all can be: the first in which something is received.

    Return -1 if nothing is received, and all are followed.
    """
    only = UNFAIR
    for k in range(n):
        kind = class_of(load_word(out, k * (TOTAL + 8)))
        if kind >= RECEIPTS and kind < only:
            only = kind
    return only if only != UNFAIR else -1


def stable_from(s: State, image: State, perm: Bytes) -> None:
    """Write the state, renamed, with which the stable phase begins: without budgets."""
    renamed(s, image, perm)
    forget_budgets(image)


def waits_in(s: State, named: Node) -> int:
    """Return the progress properties that wait in a state, as bits."""
    return waits_of(s, named)


def unpack_node(data: Bytes, at: int, s: State) -> int:
    """Unpack the state of a node."""
    return unpack(bytes_of(data, at), s)
