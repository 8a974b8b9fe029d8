"""Compute what a step of a trace changed, from the trace alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from traces.explain.names import NONE, history_text, message_text, observation_text, process_name, txn_text
from traces.record.trace import JsonState, Observation, Step, Trace
from traces.record.values import state_json
from zabspec.history import history_fields
from zabspec.language.layout.bytecode import names_in
from zabspec.language.layout.kinds import Int, Kind, Record, Seq
from zabspec.language.layout.notation import naming_processes, value_text
from zabspec.language.layout.schema import NODE, Field, Role
from zabspec.language.python.reference import StateView
from zabspec.model import Model
from zabspec.worlds import actor

CHANNELS = ("to_leader", "to_follower", "stale", "in_flight", "in_line")
# What the events of a step tell, of the observed history of atomic broadcast.
OF_EVENTS = frozenset(f.name for f in history_fields(1, 1, Int(0, 1), Record("Txn", {}), False, False))


@dataclass(frozen=True)
class Change:
    """A change that a step made.

    Attributes:
        text: one short line.
        fields: the fields of the state in which it is seen.
        processes: the processes to which it belongs; empty if to none.
        txns: the transactions that it is about, as they are written.
        epoch: the epoch that it is about.
        place: the place of the state that has another value now; empty if the change is an event.
    """

    text: str
    fields: tuple[str, ...] = ()
    processes: frozenset[int] = frozenset()
    txns: frozenset[str] = frozenset()
    epoch: int | None = None
    place: str = ""


@naming_processes
def changes(trace: Trace, number: int) -> list[str]:
    """Return what a step did, one short line per effect.

    Effects are transactions abcast, accepted or delivered, leaders established, messages sent or lost, and every other
    state field that changed. Budgets are left out: the step itself names what it spent.

    Args:
        trace: the trace.
        number: which step, from 1.
    """
    step, before, model = trace.steps[number - 1], trace.states[number - 1], trace.model
    sent = []
    for m in step.sent:
        lost = " (lost: the connection is not open)" if m.lost else ""
        sent.append(f"{process_name(m.source)} -> {process_name(m.destination)}: {message_text(m, model)}{lost}")
    return [*(c.text for c in changed(trace, number)), *sent, *_lost_in_flight(before, step)]


@naming_processes
def changed(trace: Trace, number: int) -> list[Change]:
    """Return what a step changed, without the messages sent and lost, as `Change` objects that say what each is about.

    Args:
        trace: the trace.
        number: the number of the step, from 1.
    """
    # The model once: for each question of it the files of its text are read again, to see whether they have changed.
    step, before, model = trace.steps[number - 1], trace.states[number - 1], trace.model
    return [
        *_abcast(step),
        *_changed_fields(model, before, step),
        *_accepted(step),
        *_facts(before, step),
        *_delivered(step),
        *_observed(model, step),
    ]


def _abcast(step: Step) -> Iterator[Change]:
    if step.abcast is not None:
        what = txn_text(step.abcast)
        seen = ("abcasts", "abcast_txn", "abcast_by", "abcast_attempt", "abcast_after")
        yield Change(f"{process_name(step.process or 0)} abcasts {what}", seen, txns=frozenset({what}))


def _accepted(step: Step) -> Iterator[Change]:
    """Yield the transactions that processes accepted and the leaderships that were established in a step."""
    for a in step.accepted:
        what, own = txn_text(a.txn), frozenset({a.process})
        seen = ("accepted", "chosen_epoch", "accepts", "accept_epoch")
        yield Change(
            f"{process_name(a.process)} accepts {what} in epoch {a.epoch}", seen, own, frozenset({what}), a.epoch
        )
    for e in step.established:
        history = history_text(e.initial_history)
        yield Change(
            f"{process_name(e.process)} is the established leader of epoch {e.epoch}, initial history {history}",
            ("established", "missing_epoch"), frozenset({e.process}), epoch=e.epoch,
        )  # fmt: skip


def _delivered(step: Step) -> Iterator[Change]:
    for d in step.delivered:
        what = txn_text(d.txn)
        yield Change(
            f"{process_name(d.process)} delivers {what}", ("delivered",), frozenset({d.process}), frozenset({what})
        )


def _observed(model: Model, step: Step) -> Iterator[Change]:
    """Yield the observations that the protocol published in a step, but for those that a field's own words tell.

    Each is about the observed fields of the protocol, so that a property's sentence can be matched with it.
    """
    ghosts = tuple(f.name for f in model.parts.fields if f.observed)
    for x in step.observed:
        if in_words(model, x):
            continue
        whose = frozenset() if x.process is None else frozenset({x.process})
        yield Change(observation_text(model, x), ghosts, whose)


def in_words(model: Model, x: Observation) -> tuple[str, ...]:
    """Return the observed fields that an observation writes and whose changes are read in the protocol's own words."""
    written = names_in(model.protocol.text.observations[x.name].function.__code__)
    return tuple(f.name for f in model.parts.fields if f.observed and f.reading and f.name in written)


def _changed_fields(model: Model, before: JsonState, step: Step) -> Iterator[Change]:
    """Yield the changed fields of processes and connections, except those that other effects already report."""
    forgotten: list[str] = []
    forgets = _forgets(model, before, step)
    told = OF_EVENTS if model.protocol.transactions else frozenset()
    for f in model.program.schema.fields:
        if f.role in (Role.SCRATCH, Role.BUDGET) or f.name in told or f.name in CHANNELS:
            continue
        for index, old, new in _entries(f.axes, before[f.name], step.state[f.name]):
            if forgets is not None and f.role is Role.VOLATILE and index[0] == forgets and f.name != "role":
                if f.name not in forgotten:
                    forgotten.append(f.name)
                continue
            if f.name == "crashed":
                said = f"{process_name(index[0])} is {'down' if new else 'up again'}"
                yield Change(said, (f.name,), frozenset(index))
                continue
            place = _place(f, index)
            was, now = ("none" if (said := value_text(f.kind, v)) == NONE else said for v in (old, new))
            whose = frozenset(index[: f.node_axes])
            yield Change(f"{place} {was} -> {now}", (f.name,), whose, _gone_and_come(f.kind, old, new), place=place)
    if forgotten and forgets is not None:
        text = f"{process_name(forgets)} forgets {', '.join(forgotten)}"
        yield Change(text, tuple(forgotten), frozenset({forgets}), place=text)


def _gone_and_come(kind: Kind, old: Any, new: Any) -> frozenset[str]:
    """Return the transactions that exactly one of two values contains, as they are written."""
    if isinstance(kind, Seq) and isinstance(kind.element, Record):
        return frozenset(value_text(kind.element, t) for t in old) ^ frozenset(value_text(kind.element, t) for t in new)
    return frozenset(value_text(kind, t) for t in (old, new)) if isinstance(kind, Record) else frozenset()


def _forgets(model: Model, before: JsonState, step: Step) -> int | None:
    """Return the process that lost all its volatile state in a step, as a crash or a new iteration does, or None."""
    if not model.protocol.declared.replicas:
        return step.process if step.word.kind.startswith("crash") else None
    roles = (s.get("role", []) for s in (before, step.state))
    for p, (old, new) in enumerate(zip(*roles, strict=True)):
        if old != new and new in (actor.ELECTION, actor.DOWN):
            volatile = [f.name for f in model.program.schema.fields if f.role is Role.VOLATILE]
            nothing = _nothing(model)
            if all(step.state[k][p] == nothing[k][p] for k in volatile if k != "role"):
                return p
    return None


@lru_cache(maxsize=8)
def _nothing(model: Model) -> JsonState:
    """Return the state with the lowest value of every range, as a process's fields have after a restart."""
    return state_json(StateView(model.program.layout))


def _entries(axes: Sequence[str | int], old: Any, new: Any) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    """Yield the entries that differ between two values of a field, each as its index, the old and the new value."""
    if old == new:
        return
    if not axes:
        yield (), old, new
        return
    for k, (a, b) in enumerate(zip(old, new, strict=True)):
        for index, x, y in _entries(axes[1:], a, b):
            yield (k, *index), x, y


def _place(f: Field, index: tuple[int, ...]) -> str:
    """Name one entry of a field: `p1.promised_epoch`, `connection of p1 to p0`."""
    if f.name == "link":
        return f"connection of {process_name(index[0])} to {process_name(index[1])}"
    if f.reading:
        return f.reading.format(*(process_name(k) if n < f.node_axes else k for n, k in enumerate(index)))
    inner = "".join(f"[{k}]" for k in index[f.node_axes :])
    if f.axes[:1] == (NODE,):
        inner = "".join(f"[{process_name(k)}]" for k in index[1 : f.node_axes]) + inner
        return f"{process_name(index[0])}.{f.name}{inner}"
    return f.name + inner


def _facts(before: JsonState, step: Step) -> Iterator[Change]:
    """Yield the changes of the observed history: transactions chosen, missing or lost."""
    after = step.state
    if "abcast_txn" not in after:
        return
    for k, t in enumerate(after["abcast_txn"]):
        what = txn_text(t)
        epoch, missing = after["chosen_epoch"][k], after["missing_epoch"][k]
        if before["chosen_epoch"][k] != epoch:
            text = f"{what} is chosen in epoch {epoch}"
            yield Change(text, ("chosen_epoch",), txns=frozenset({what}), epoch=epoch)
        if before["missing_epoch"][k] != missing:
            here = any(t in e.initial_history for e in step.established)
            text = f"{what} is {'out of order' if here else 'not'} in the initial history of epoch {missing}"
            yield Change(text, ("missing_epoch",), txns=frozenset({what}), epoch=missing)
    for p, diverged in enumerate(after["diverged"]):
        if diverged and not before["diverged"][p]:
            yield Change(f"{process_name(p)} delivers in another order than before", ("diverged",), frozenset({p}))
    for p, revised in enumerate(after["revised"]):
        if revised == 2 and before["revised"][p] < 2:
            had = history_text(before["delivered"][p][: before["pass_length"][p]])
            has = history_text(after["history"][p])
            text = f"{process_name(p)}, which has delivered {had}, replaces its history with {has}"
            yield Change(text, ("revised",), frozenset({p}))


def _lost_in_flight(before: JsonState, step: Step) -> list[str]:
    """Return a line for every message in flight that a step lost."""
    out: list[str] = []
    after = step.state
    if "to_leader" not in before:
        return _overtaken(before, step)
    nodes = range(len(before["link"]))
    for f in nodes:
        for l in nodes:
            gone = _gone(before["to_leader"][f][l], after["to_leader"][f][l], step, f, l, "to_leader")
            out += [f"{process_name(f)} -> {process_name(l)}: {m['kind']} is lost" for m in gone]
            gone = _gone(_sent_down(before, f, l), _sent_down(after, f, l), step, f, l, "to_follower")
            out += [f"{process_name(l)} -> {process_name(f)}: {m['kind']} is lost" for m in gone]
    return out


def _sent_down(state: JsonState, f: int, l: int) -> list[Any]:
    """Return what is in flight from l to f, also over earlier connections."""
    stale: list[Any] = state["stale"][f][l] if "stale" in state else []
    return stale + state["to_follower"][f] if state["leader"][f] == l else stale


def _overtaken(before: JsonState, step: Step) -> list[str]:
    """Return a line for every datagram overtaken by the received one on an ordered network.

    On an unordered network no datagram is overtaken, so the result is empty.
    """
    m = step.message
    if m is None:
        return []
    mine = [x for x in before["in_flight"] if (x["source"], x["target"]) == (m.source, m.destination)]
    left = [x for x in step.state["in_flight"] if (x["source"], x["target"]) == (m.source, m.destination)]
    sent = [x for x in step.sent if (x.source, x.destination) == (m.source, m.destination)]
    count = len(mine) - 1 - (len(left) - len(sent))
    lost = sorted(mine, key=lambda x: int(x["ahead"]))[: max(0, count)]
    return [f"{process_name(m.source)} -> {process_name(m.destination)}: {x['kind']} is lost" for x in lost]


def _gone(old: list[Any], new: list[Any], step: Step, f: int, l: int, channel: str) -> list[Any]:
    """Return the messages that a step removed from a channel, without the one it received."""
    if not old:
        return []
    o, row, left = step.word.operands, step.word.row, list(old)
    about = row.message == channel and (o["follower"], o["leader"]) == (f, l) and o.get("place", 0) < len(left)
    if about and not (row.keeps or row.loses):
        del left[o.get("place", 0)]
    if about and row.loses:
        return [left[o["place"]]]
    kept = next((k for k, m in enumerate(left) if new[k : k + 1] != [m]), len(left))
    return left[kept:]
