"""What the steps of a trace changed, and why its events cannot be: in the paper's notation.

Everything is found in the trace itself. `why` looks for the smallest events that break the
property: what it says happened did happen, at the steps it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from traces.trace import AT_FOLLOWER, AT_LEADER, DROPS, JsonState, JsonTxn, Step, Trace, TraceError, Transmission
from zabspec import zab
from zabspec.language.kinds import Bool, Int, Kind, NodeId, Record, Seq, SetOf
from zabspec.language.schema import NODE, Field, Role
from zabspec.worlds import actor, connections

__all__ = ["changes", "headline", "message_text", "process_names", "txn_text", "why"]


# --- names and values as a person reads them -----------------------------------------------------


def process_name(p: int) -> str:
    """A process."""
    return f"p{p}" if p >= 0 else "nobody"


def process_names(members: Sequence[int]) -> str:
    """Several processes: `p0, p1 and p2`."""
    return joined([process_name(p) for p in members]) or "nobody"


def joined(parts: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def txn_text(t: Mapping[str, int]) -> str:
    """A transaction with its identity and its zxid: `t1 <1,1>`; `-` for none."""
    if not any(t.values()):
        return "-"
    return f"t{t['value']} <{t['epoch']},{t['counter']}>"


def history_text(history: Sequence[Mapping[str, int]]) -> str:
    """A sequence of transactions."""
    return f"[{', '.join(txn_text(t) for t in history)}]"


def message_text(m: Transmission) -> str:
    """A message and what it carries: `ACK_E(current_epoch=0, history=[])`."""
    return f"{m.kind}({', '.join(f'{name}={_carried(value)}' for name, value in m.fields.items())})"


def _carried(value: Any) -> str:
    if isinstance(value, dict):
        return txn_text(value)
    if isinstance(value, list):
        return f"[{', '.join(_carried(v) for v in value)}]"
    return str(value)


def _names_of(module: Any, *names: str) -> dict[int, str]:
    return {0: "-"} | {getattr(module, name): name for name in names}


# The values of fields that are enumerations, by the names their texts give them.
WORLD_NAMES: dict[str, dict[int, str]] = {
    "role": _names_of(actor, "ELECTION", "FOLLOWING", "LEADING", "DOWN"),
    "link": _names_of(connections, "NONE", "OPEN", "LOST", "LEADER_OPEN", "FOLLOWER_OPEN"),
}
ZAB_NAMES: dict[str, dict[int, str]] = {
    "phase": _names_of(zab, "DISCOVERY", "SYNCHRONIZATION", "BROADCAST"),
    "stage": _names_of(zab, "GATHERING", "PROMISING", "SYNCHRONIZING", "ESTABLISHED"),
}


def value_text(f: Field, kind: Kind, value: Any, protocol: str) -> str:
    """A value of a field."""
    named = WORLD_NAMES | (ZAB_NAMES if protocol == "zab" else {})
    if f.name in named and value in named[f.name]:
        return named[f.name][value]
    if isinstance(kind, Bool):
        return "true" if value else "false"
    if isinstance(kind, NodeId):
        return process_name(value)
    if isinstance(kind, Int):
        return str(value)
    if isinstance(kind, Record):
        return txn_text(value) if kind.name == "Txn" else str(value)
    if isinstance(kind, SetOf):
        return "{" + ", ".join(process_name(k) if kind.nodes else str(k) for k in value) + "}"
    assert isinstance(kind, Seq)
    return "[" + ", ".join(value_text(f, kind.element, v, protocol) for v in value) + "]"


def headline(step: Step) -> str:
    """Who took a step, and which."""
    o, label = step.word.operands, step.label
    kind = step.word.kind
    if step.message is not None and kind not in DROPS:
        m = step.message
        return f"{process_name(m.destination)}: {label} on {m.kind} from {process_name(m.source)}"
    if step.message is not None:
        m = step.message
        return f"network: {label} {m.kind} from {process_name(m.source)} to {process_name(m.destination)}"
    if kind == "oracle":
        rest = label.removeprefix("oracle")
        return f"{process_name(o['process'])}: oracle names {process_name(o['leader'])}{rest}"
    if kind == "leader_learns":
        return f"{process_name(o['leader'])}: learns that the connection of {process_name(o['follower'])} is lost"
    if kind == "follower_learns":
        return f"{process_name(o['follower'])}: learns that its connection to {process_name(o['leader'])} is lost"
    if kind == "lose_connection":
        return f"network: {label} of {process_name(o['follower'])} to {process_name(o['leader'])}"
    if kind == "partition":
        side = [p for p in range(8) if o["side"] >> p & 1]
        return f"network: {label} cuts off {process_names(side)}"
    return f"{process_name(step.process if step.process is not None else -1)}: {label}"


# --- what a step changed -------------------------------------------------------------------------


def changes(trace: Trace, number: int) -> list[str]:
    """What a step did, a short line each: what was abcast, accepted, delivered, established, sent
    and lost, and every other field of the state that it changed. Budgets are left out: the step
    itself says what it spent.

    Args:
        trace: the trace.
        number: which step, from 1.
    """
    step = trace.steps[number - 1]
    before = trace.states[number - 1]
    out: list[str] = []
    if step.abcast is not None:
        out.append(f"{process_name(step.process or 0)} abcasts {txn_text(step.abcast)}")
    out += _changed_fields(trace, before, step)
    out += [f"{process_name(a.process)} accepts {txn_text(a.txn)} in epoch {a.epoch}" for a in step.accepted]
    for e in step.established:
        history = history_text(e.initial_history)
        out.append(f"{process_name(e.process)} is the established leader of epoch {e.epoch}, initial history {history}")
    out += _facts(before, step.state)
    out += [f"{process_name(d.process)} delivers {txn_text(d.txn)}" for d in step.delivered]
    for m in step.sent:
        lost = " (lost: the connection is not open)" if m.lost else ""
        out.append(f"{process_name(m.source)} -> {process_name(m.destination)}: {message_text(m)}{lost}")
    return out + _lost_in_flight(before, step)


def _changed_fields(trace: Trace, before: JsonState, step: Step) -> list[str]:
    """The fields of processes and connections that changed."""
    out: list[str] = []
    forgotten: list[str] = []
    protocol = trace.configuration.protocol
    channels = ("to_leader", "to_follower")
    forgets = _forgets(trace, before, step)
    for f in trace.model.program.schema.fields:
        if f.role in (Role.SCRATCH, Role.BUDGET) or f.observed or f.name in channels:
            continue
        for index, old, new in _entries(f.axes, before[f.name], step.state[f.name]):
            if old == new:
                continue
            if forgets is not None and f.role is Role.VOLATILE and index[0] == forgets and f.name != "role":
                if f.name not in forgotten:
                    forgotten.append(f.name)
                continue
            place = _place(f, index)
            was, now = (value_text(f, f.kind, v, protocol) for v in (old, new))
            out.append(f"{place} {was} -> {now}")
    if forgotten and forgets is not None:
        out.append(f"{process_name(forgets)} forgets {', '.join(forgotten)}")
    return out


def _forgets(trace: Trace, before: JsonState, step: Step) -> int | None:
    """The process that lost everything it kept in memory, as it does with its iteration."""
    for p, (old, new) in enumerate(zip(before["role"], step.state["role"], strict=True)):
        if old != new and new in (actor.ELECTION, actor.DOWN):
            volatile = [f.name for f in trace.model.program.schema.fields if f.role is Role.VOLATILE]
            if all(step.state[k][p] == trace.initial[k][p] for k in volatile if k != "role"):
                return p
    return None


def _entries(axes: Sequence[str | int], old: Any, new: Any) -> Iterator[tuple[tuple[int, ...], Any, Any]]:
    if not axes:
        yield (), old, new
        return
    for k, (a, b) in enumerate(zip(old, new, strict=True)):
        for index, x, y in _entries(axes[1:], a, b):
            yield (k, *index), x, y


def _place(f: Field, index: tuple[int, ...]) -> str:
    """One entry of a field: `p1.promised_epoch`, `connection of p1 to p0`."""
    if f.name == "link":
        return f"connection of {process_name(index[0])} to {process_name(index[1])}"
    inner = "".join(f"[{k}]" for k in index[f.node_axes :])
    if f.axes[:1] == (NODE,):
        inner = "".join(f"[{process_name(k)}]" for k in index[1 : f.node_axes]) + inner
        return f"{process_name(index[0])}.{f.name}{inner}"
    return f.name + inner


def _facts(before: JsonState, after: JsonState) -> list[str]:
    """What has become true of the observed history."""
    out = []
    for k, t in enumerate(after["abcast_txn"]):
        if before["chosen_epoch"][k] != after["chosen_epoch"][k]:
            out.append(f"{txn_text(t)} is chosen in epoch {after['chosen_epoch'][k]}")
        if before["missing_epoch"][k] != after["missing_epoch"][k]:
            out.append(f"{txn_text(t)} is not in the initial history of epoch {after['missing_epoch'][k]}")
    for p, diverged in enumerate(after["diverged"]):
        if diverged and not before["diverged"][p]:
            out.append(f"{process_name(p)} delivers otherwise than it did before")
    return out


def _lost_in_flight(before: JsonState, step: Step) -> list[str]:
    """What was in flight and can no longer arrive."""
    out = []
    after = step.state
    nodes = range(len(before["role"]))
    for f in nodes:
        for l in nodes:
            gone = _gone(before["to_leader"][f][l], after["to_leader"][f][l], step, f, l, AT_LEADER)
            out += [f"{process_name(f)} -> {process_name(l)}: {m['kind']} is lost" for m in gone]
        l = before["leader"][f]
        gone = _gone(before["to_follower"][f], after["to_follower"][f], step, f, l, AT_FOLLOWER)
        out += [f"{process_name(l)} -> {process_name(f)}: {m['kind']} is lost" for m in gone]
    return out


def _gone(old: list[Any], new: list[Any], step: Step, f: int, l: int, kinds: frozenset[str]) -> list[Any]:
    """The messages of a channel that a step removed, but for the one it received."""
    o, left = step.word.operands, list(old)
    about = step.word.kind in kinds and (o["follower"], o["leader"]) == (f, l) and o.get("place", 0) < len(left)
    if about and not step.word.kind.startswith(("repeat", "drop")):
        del left[o.get("place", 0)]
    if about and step.word.kind in DROPS:
        return [left[o["place"]]]
    # a channel loses all it holds or nothing
    return left if len(new) < len(left) else []


# --- why the events cannot be ----------------------------------------------------------------------


@dataclass(frozen=True)
class Evidence:
    """What a sentence is found in: the states, and the steps between them where they are known."""

    states: Sequence[JsonState]
    steps: Sequence[Step]

    @property
    def last(self) -> JsonState:
        return self.states[-1]

    @property
    def before(self) -> JsonState:
        return self.states[-2]

    @property
    def step(self) -> Step:
        return self.steps[-1]

    @property
    def nodes(self) -> range:
        return range(len(self.last["delivered"]))

    def first(self, field: str, k: int, value: Any) -> Step | None:
        """The first step after which an entry of a field has a value."""
        for step in self.steps:
            if step.state[field][k] == value:
                return step
        return None


Reason = Callable[[Evidence], str]  # the sentence; empty: the events break nothing


def why(evidence: Trace | Sequence[JsonState], name: str = "") -> str:
    """One sentence with the smallest events that break a property, found in the last state or step.

    Args:
        evidence: a trace; or states alone, in order, from which less can be told: not which step
            did it, and nothing about properties of steps.
        name: the property; a trace says itself which it breaks.

    Returns:
        The sentence; the empty text for a trace without a property.

    Raises:
        TraceError: the last state or step does not break the property, or the property is one of
            steps and there is none.
    """
    if isinstance(evidence, Trace):
        name = name or evidence.property_name
        found = Evidence(evidence.states, evidence.steps)
        if not name:
            return ""
    else:
        found = Evidence(evidence, ())
    if name in STEP_REASONS:
        if not found.steps:
            raise TraceError(f"{name} is a property of steps, and there is no step")
        sentence = STEP_REASONS[name](found)
    elif name in REASONS:
        sentence = REASONS[name](found)
    else:
        return _unknown(evidence, name)
    if not sentence:
        raise TraceError(f"nothing in the last state breaks {name!r}")
    return sentence


def _unknown(evidence: Trace | Sequence[JsonState], name: str) -> str:
    """The most that can be said of a property this module does not know: what the last step did."""
    if not isinstance(evidence, Trace) or not evidence.steps:
        return f"The last state breaks {name}."
    did = "; ".join(changes(evidence, len(evidence.steps))) or "nothing that shows"
    return f"Step {len(evidence.steps)} ({headline(evidence.steps[-1])}) breaks {name}: {did}."


def _was_abcast(h: JsonState, t: JsonTxn) -> bool:
    return 1 <= t["value"] <= h["abcasts"] and bool(h["abcast_txn"][t["value"] - 1] == t)


def _same_instance(h: JsonState, j: int, k: int) -> bool:
    return all(a[j] == a[k] for a in ([t["epoch"] for t in h["abcast_txn"]], h["abcast_by"], h["abcast_attempt"]))


def _place_of(h: JsonState, p: int, t: JsonTxn) -> int:
    delivered = h["delivered"][p]
    return delivered.index(t) if t in delivered else -1


def _without(h: JsonState, p: int, first: JsonTxn, second: JsonTxn) -> str:
    """How p, which delivered `second`, wronged `first`; empty: it delivered it before."""
    i, j = _place_of(h, p, first), _place_of(h, p, second)
    if 0 <= i < j:
        return ""
    how = f"before {txn_text(first)}" if i >= 0 else f"without {txn_text(first)}"
    return f"{process_name(p)} delivered {txn_text(second)} {how}"


def _divergence(e: Evidence) -> str:
    """A process that disagrees with itself: what it delivered in two passes."""
    h = e.last
    for p in e.nodes:
        if not h["diverged"][p]:
            continue
        step = e.first("diverged", p, True)
        if step is None:
            return f"{process_name(p)} delivered in one pass otherwise than in an earlier one."
        before = e.states[step.number - 1]
        earlier, place = list(before["delivered"][p]), before["pass_length"][p]
        for t in (d.txn for d in step.delivered if d.process == p):
            if place < len(earlier) and earlier[place] != t:
                return (
                    f"{process_name(p)}, which had delivered {txn_text(earlier[place])} as number {place + 1} of an "
                    f"earlier pass, delivered {txn_text(t)} as number {place + 1} of a later one (step {step.number})."
                )
            if place >= len(earlier):
                if t in earlier:
                    return (
                        f"{process_name(p)} delivered {txn_text(t)} as number {earlier.index(t) + 1} of a pass "
                        f"and as number {place + 1} of the same or a later one (step {step.number})."
                    )
                earlier.append(t)
            place += 1
    return ""


def _integrity(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        for t in h["delivered"][p]:
            if not _was_abcast(h, t):
                what = f"{process_name(p)} delivered {txn_text(t)}"
                if 1 <= t["value"] <= h["abcasts"]:
                    k = t["value"] - 1
                    true = txn_text(h["abcast_txn"][k])
                    return f"{what}, but what {process_name(h['abcast_by'][k])} broadcast was {true}."
                return f"{what}, which no process broadcast."
    return ""


def _total_order(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        for j, u in enumerate(h["delivered"][p]):
            for q in e.nodes:
                if q != p and u in h["delivered"][q]:
                    for t in h["delivered"][p][:j]:
                        wrong = _without(h, q, t, u)
                        if wrong:
                            return f"{process_name(p)} delivered {txn_text(t)} before {txn_text(u)}, but {wrong}."
    return _divergence(e)


def _agreement(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        for q in range(p):
            mine = [t for t in h["delivered"][p] if t not in h["delivered"][q]]
            theirs = [t for t in h["delivered"][q] if t not in h["delivered"][p]]
            if mine and theirs:
                a, b = txn_text(theirs[0]), txn_text(mine[0])
                return f"{process_name(q)} delivered {a} but not {b}, and {process_name(p)} delivered {b} but not {a}."
    return _divergence(e)


def _pairs_delivered(e: Evidence) -> Iterator[tuple[int, int, int, JsonTxn]]:
    """Every transaction k that a process p delivered, with every abcast j before it."""
    h = e.last
    for p in e.nodes:
        for t in h["delivered"][p]:
            if _was_abcast(h, t):
                for j in range(t["value"] - 1):
                    yield p, j, t["value"] - 1, t


def _local_primary_order(e: Evidence) -> str:
    h = e.last
    for p, j, k, t in _pairs_delivered(e):
        first = h["abcast_txn"][j]
        wrong = _same_instance(h, j, k) and _without(h, p, first, t)
        if wrong:
            primary = process_name(h["abcast_by"][j])
            return f"Primary {primary} broadcast {txn_text(first)} before {txn_text(t)}, but {wrong}."
    return ""


def _prefix(e: Evidence) -> str:
    h = e.last
    for p, j, k, t in _pairs_delivered(e):
        first = h["abcast_txn"][j]
        if _same_instance(h, j, k) and first not in h["delivered"][p]:
            return (
                f"Leader {process_name(h['abcast_by'][j])} of epoch {t['epoch']} proposed {txn_text(first)} before "
                f"{txn_text(t)}, but {process_name(p)} delivered {txn_text(t)} without {txn_text(first)}."
            )
    return ""


def _broadcaster(h: JsonState, t: JsonTxn) -> str:
    return (
        f"broadcast by {process_name(h['abcast_by'][t['value'] - 1])}" if _was_abcast(h, t) else "broadcast by nobody"
    )


def _global_primary_order(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        for j, u in enumerate(h["delivered"][p]):
            for t in h["delivered"][p][:j]:
                if t["epoch"] > u["epoch"]:
                    return (
                        f"{process_name(p)} delivered {txn_text(t)}, {_broadcaster(h, t)}, before {txn_text(u)}, "
                        f"{_broadcaster(h, u)} as primary of the earlier epoch {u['epoch']}."
                    )
    return ""


def _primary_integrity(e: Evidence) -> str:
    h = e.last
    for k in range(h["abcasts"]):
        mine = h["abcast_txn"][k]
        for p in e.nodes:
            for t in h["delivered"][p]:
                if t["epoch"] < mine["epoch"] and t["value"] - 1 not in h["abcast_after"][k]:
                    return (
                        f"{process_name(h['abcast_by'][k])}, primary of epoch {mine['epoch']}, broadcast "
                        f"{txn_text(mine)} without having delivered {txn_text(t)} of the earlier epoch "
                        f"{t['epoch']}, which {process_name(p)} delivered."
                    )
    return ""


def _directly_precedes(h: JsonState, j: int, k: int) -> str:
    """Why abcast j PO-precedes abcast k without anything in between; empty: it does not."""
    if j >= k:
        return ""
    if _same_instance(h, j, k):
        return f"{process_name(h['abcast_by'][j])} broadcast it earlier"
    if j in h["abcast_after"][k]:
        return f"{process_name(h['abcast_by'][k])} had delivered it when it broadcast the latter"
    return ""


def _po_causal_order(e: Evidence) -> str:
    h = e.last
    for p, j, k, t in _pairs_delivered(e):
        first, reason = h["abcast_txn"][j], _directly_precedes(h, j, k)
        wrong = reason and _without(h, p, first, t)
        if wrong:
            return f"{txn_text(first)} PO-precedes {txn_text(t)} ({reason}), but {wrong}."
    return ""


def _precedes(h: JsonState, j: int, k: int) -> bool:
    reached = {k}
    for b in range(k, -1, -1):
        if b in reached:
            reached |= {a for a in range(b) if _directly_precedes(h, a, b)}
    return j != k and j in reached


def _strict_causality(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        known = [t for t in h["delivered"][p] if _was_abcast(h, t)]
        for j, second in enumerate(known):
            for first in known[:j]:
                a, b = sorted((first["value"] - 1, second["value"] - 1))
                if not _precedes(h, a, b):
                    t, u = h["abcast_txn"][a], h["abcast_txn"][b]
                    return (
                        f"{process_name(p)} delivered {txn_text(first)} and {txn_text(second)}, and neither PO-precedes "
                        f"the other: {process_name(h['abcast_by'][b])} broadcast {txn_text(u)} without having delivered "
                        f"{txn_text(t)} of {process_name(h['abcast_by'][a])}, nor anything that it PO-precedes."
                    )
    return ""


def _causal_order(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        known = [t for t in h["delivered"][p] if _was_abcast(h, t)]
        for j, a in enumerate(known):
            for b in known[:j]:
                by_a, by_b = (h["abcast_by"][t["value"] - 1] for t in (a, b))
                wrong = f"{process_name(p)} delivered {txn_text(b)} before {txn_text(a)}"
                if by_a == by_b and a["value"] < b["value"]:
                    return f"{wrong}, but {process_name(by_a)} proposed {txn_text(a)} before {txn_text(b)}."
                if a["epoch"] < b["epoch"]:
                    return (
                        f"{wrong}, but {process_name(by_a)} proposed {txn_text(a)} as leader of epoch {a['epoch']}, "
                        f"before the epoch in which {process_name(by_b)} proposed {txn_text(b)}."
                    )
    return ""


def _one_primary(e: Evidence) -> str:
    h = e.last
    for k in range(h["abcasts"]):
        if h["abcast_attempt"][k] > 0:
            mine = h["abcast_txn"][k]
            who = process_name(h["abcast_by"][k])
            for j in range(h["abcasts"]):
                other = h["abcast_txn"][j]
                if j != k and other["epoch"] == mine["epoch"] and not _same_instance(h, j, k):
                    first = process_name(h["abcast_by"][j])
                    again = f"{who} again, in a later leadership," if first == who else who
                    return (
                        f"Two primaries broadcast in epoch {mine['epoch']}: {first} broadcast {txn_text(other)}, "
                        f"and {again} broadcast {txn_text(mine)}."
                    )
            return f"{who} broadcast {txn_text(mine)} as a second primary of epoch {mine['epoch']}."
    return ""


def _one_leader(e: Evidence) -> str:
    for epoch, count in enumerate(e.last["established"]):
        if count > 1:
            when = [
                f"{process_name(x.process)} at step {step.number}"
                for step in e.steps
                for x in step.established
                if x.epoch == epoch
            ]
            return f"Epoch {epoch} has more than one established leader{': ' if when else ''}{joined(when)}."
    return ""


def _acceptors(e: Evidence, k: int, epoch: int) -> list[int]:
    """Who had accepted transaction k in an epoch when it was chosen there, or by the end."""
    out: list[int] = []
    for step in e.steps:
        for a in step.accepted:
            if a.txn["value"] == k + 1 and a.epoch == epoch and a.process not in out:
                out.append(a.process)
        if epoch and step.state["chosen_epoch"][k] == epoch:
            break
    return sorted(out)


def _chosen(e: Evidence) -> str:
    h = e.last
    for k in range(len(h["chosen_epoch"])):
        chosen, missing = h["chosen_epoch"][k], h["missing_epoch"][k]
        if chosen > 0 and missing > chosen:
            t = h["abcast_txn"][k]
            by = _acceptors(e, k, chosen)
            accepted = f" (accepted by {process_names(by)})" if by else ""
            that = ""
            for step in e.steps:
                for x in step.established:
                    if x.epoch == missing and t not in x.initial_history:
                        leader = process_name(x.process)
                        that = f", {history_text(x.initial_history)}, which {leader} established at step {step.number}"
            return (
                f"{txn_text(t)} was chosen in epoch {chosen}{accepted}, "
                f"but is missing in the initial history of epoch {missing}{that}."
            )
    return ""


def _delivered_is_chosen(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        for t in h["delivered"][p]:
            if _was_abcast(h, t) and h["chosen_epoch"][t["value"] - 1] == 0:
                k = t["value"] - 1
                by = [
                    f"{process_names(who)} in epoch {epoch}"
                    for epoch in range(len(h["established"]))
                    if (who := sorted({*_acceptors(e, k, epoch), *h["accepted"][epoch][k]}))
                ]
                who_did = f"only {joined(by)} accepted it" if by else "nobody accepted it"
                return f"{process_name(p)} delivered {txn_text(t)}, but no quorum has accepted it: {who_did}."
    return ""


def _follows_broadcast(e: Evidence, skips: Sequence[int]) -> str:
    h = e.last
    for f in e.nodes:
        epoch = h["current_epoch"][f]
        if h["diverged"][f]:
            continue
        broadcast = [t for t in h["abcast_txn"][: h["abcasts"]] if t["epoch"] == epoch]
        mine = [t for t in h["delivered"][f][skips[f] : h["pass_length"][f]] if t["epoch"] == epoch]
        for k, t in enumerate(mine):
            if k >= len(broadcast) or broadcast[k] != t:
                due = (
                    f"where the broadcast has {txn_text(broadcast[k])}"
                    if k < len(broadcast)
                    else "beyond the broadcast"
                )
                where = "Phase 3" if skips[f] else "this pass"
                return (
                    f"{process_name(f)} delivered {txn_text(t)} as number {k + 1} of epoch {epoch} in {where}, {due} "
                    f"({history_text(broadcast)})."
                )
    return ""


def _invariant_5(e: Evidence) -> str:
    return _follows_broadcast(e, [0 for _ in e.nodes])


def _invariant_5_literal(e: Evidence) -> str:
    return _follows_broadcast(e, e.last["synced_length"])


# --- properties of steps: of the last one


def _invariant_1(e: Evidence) -> str:
    if e.step.accepted:
        a = e.step.accepted[-1]
        current = e.last["current_epoch"][a.process]
        if current != a.epoch:
            return (
                f"{process_name(a.process)} accepted {txn_text(a.txn)} as a proposal of epoch {a.epoch} "
                f"while its current epoch is {current} (step {e.step.number})."
            )
    return ""


def _at(history: Sequence[JsonTxn], k: int) -> JsonTxn:
    """The k-th transaction; past the end there is none, as a program reads it."""
    return history[k] if k < len(history) else {"epoch": 0, "counter": 0, "value": 0}


def _zxid(t: JsonTxn) -> tuple[int, int]:
    return t["epoch"], t["counter"]


def _invariant_2(e: Evidence) -> str:
    step = e.step
    if step.message is None or step.word.kind not in AT_FOLLOWER - DROPS:
        return ""
    f = step.message.destination
    who, at = process_name(f), f"(step {step.number})"
    old, new = e.before["history"][f], e.last["history"][f]
    if step.message.kind == "PROPOSE" and step.accepted and old:
        t = new[len(old)] if len(old) < len(new) else step.accepted[-1].txn
        if _zxid(old[-1]) >= _zxid(t):
            return f"{who} accepted {txn_text(t)} after {txn_text(old[-1])}, against the order of zxids {at}."
    start, end = (s["delivered_length"][f] for s in (e.before, e.last))
    if e.last["phase"][f] == zab.BROADCAST:
        for k in range(max(start, 1), end):
            t, u = _at(new, k - 1), _at(new, k)
            if _zxid(t) >= _zxid(u):
                return f"{who} delivered {txn_text(u)} after {txn_text(t)}, against the order of zxids {at}."
    return ""


def _invariant_3(e: Evidence) -> str:
    if e.step.accepted:
        a = e.step.accepted[-1]
        promised = e.before["promised_epoch"][a.process]
        if a.epoch < promised:
            return (
                f"{process_name(a.process)} accepted {txn_text(a.txn)} as a proposal of epoch {a.epoch} "
                f"after it had promised epoch {promised} (step {e.step.number})."
            )
    return ""


def _invariant_4(e: Evidence) -> str:
    step, before, after = e.step, e.before, e.last
    m = step.message
    if m is None or step.word.kind in DROPS:
        return ""
    p, at = m.destination, f"(step {step.number})"
    who = process_name(p)
    if step.word.kind in AT_FOLLOWER and m.kind == "NEWEPOCH":
        return _wrong_offer(e, p, before["leader"][p])
    if step.word.kind in AT_FOLLOWER and m.kind == "NEWLEADER" and step.accepted:
        carried, mine = m.fields["history"], after["history"][p]
        if after["role"][p] != actor.DOWN and mine != carried:
            return (
                f"NEWLEADER carried {history_text(carried)}, but the history of {who} became {history_text(mine)} {at}."
            )
    stages = (before["stage"][p], after["stage"][p])
    if step.word.kind in AT_LEADER and stages == (zab.PROMISING, zab.SYNCHRONIZING):
        log = after["log"][p]
        if log != before["log"][p] and log != m.fields["history"]:
            return f"{who} made {history_text(log)} the initial history, which no follower offered it {at}."
        for g in after["Q"][p]:
            queue = after["to_follower"][g]
            if len(queue) > len(before["to_follower"][g]) and queue[-1].get("history") != log:
                sent = history_text(queue[-1].get("history", []))
                return (
                    f"The initial history of {who} is {history_text(log)}, but it sent {process_name(g)} {sent} {at}."
                )
    return ""


def _wrong_offer(e: Evidence, p: int, l: int) -> str:
    """What is wrong with the acknowledgement of NEWEPOCH that p sent to l in the last step."""
    new = e.last["to_leader"][p][l]
    if len(new) <= len(e.before["to_leader"][p][l]):
        return ""
    sent, who = new[-1], process_name(p)
    if sent["kind"] != "ACK_E":
        return f"{who} answered NEWEPOCH with {sent['kind']} (step {e.step.number})."
    epoch, history = e.last["current_epoch"][p], e.last["history"][p]
    if sent["history"] != history or sent["current_epoch"] != epoch:
        return (
            f"The history of {who} is {history_text(history)} with current epoch {epoch}, but its ACK-E carried "
            f"{history_text(sent['history'])} with current epoch {sent['current_epoch']} (step {e.step.number})."
        )
    return ""


REASONS: dict[str, Reason] = {
    "integrity": _integrity,
    "total-order": _total_order,
    "agreement": _agreement,
    "local-primary-order": _local_primary_order,
    "global-primary-order": _global_primary_order,
    "primary-integrity": _primary_integrity,
    "po-causal-order": _po_causal_order,
    "strict-causality": _strict_causality,
    "prefix": _prefix,
    "causal-order": _causal_order,
    "invariant-5": _invariant_5,
    "invariant-5-literal": _invariant_5_literal,
    "one-primary-an-epoch": _one_primary,
    "one-leader-an-epoch": _one_leader,
    "chosen-in-later-histories": _chosen,
    "delivered-is-chosen": _delivered_is_chosen,
}
STEP_REASONS: dict[str, Reason] = {
    "invariant-1": _invariant_1,
    "invariant-2": _invariant_2,
    "invariant-3": _invariant_3,
    "invariant-4": _invariant_4,
}
