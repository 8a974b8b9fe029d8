"""Why a history cannot be: the smallest events in it that break a property of primary-order atomic
broadcast, causality or LADIS'08. What a sentence says happened did happen.
"""

from __future__ import annotations

from collections.abc import Iterator

from traces.evidence import Evidence, Reason, same_instance, was_abcast
from traces.names import process_name, txn_text
from traces.trace import JsonState, JsonTxn

__all__ = ["REASONS"]


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
            if not was_abcast(h, t):
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
            if was_abcast(h, t):
                for j in range(t["value"] - 1):
                    yield p, j, t["value"] - 1, t


def _local_primary_order(e: Evidence) -> str:
    h = e.last
    for p, j, k, t in _pairs_delivered(e):
        first = h["abcast_txn"][j]
        wrong = same_instance(h, j, k) and _without(h, p, first, t)
        if wrong:
            primary = process_name(h["abcast_by"][j])
            return f"Primary {primary} broadcast {txn_text(first)} before {txn_text(t)}, but {wrong}."
    return ""


def _prefix(e: Evidence) -> str:
    h = e.last
    for p, j, k, t in _pairs_delivered(e):
        first = h["abcast_txn"][j]
        if same_instance(h, j, k) and first not in h["delivered"][p]:
            return (
                f"Leader {process_name(h['abcast_by'][j])} of epoch {t['epoch']} proposed {txn_text(first)} before "
                f"{txn_text(t)}, but {process_name(p)} delivered {txn_text(t)} without {txn_text(first)}."
            )
    return ""


def _broadcaster(h: JsonState, t: JsonTxn) -> str:
    return f"broadcast by {process_name(h['abcast_by'][t['value'] - 1])}"


def _global_primary_order(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        for j, u in enumerate(h["delivered"][p]):
            for t in h["delivered"][p][:j]:
                if t["epoch"] > u["epoch"] and was_abcast(h, t) and was_abcast(h, u):
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
                unknown = t["value"] - 1 not in h["abcast_after"][k]
                if t["epoch"] < mine["epoch"] and was_abcast(h, t) and unknown:
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
    if same_instance(h, j, k):
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
        known = [t for t in h["delivered"][p] if was_abcast(h, t)]
        for j, second in enumerate(known):
            for first in known[:j]:
                a, b = sorted((first["value"] - 1, second["value"] - 1))
                if not _precedes(h, a, b):
                    t, u = h["abcast_txn"][a], h["abcast_txn"][b]
                    return (
                        f"{process_name(p)} delivered {txn_text(first)} and {txn_text(second)}, and neither "
                        f"PO-precedes the other: {process_name(h['abcast_by'][b])} broadcast {txn_text(u)} without "
                        f"having delivered {txn_text(t)} of {process_name(h['abcast_by'][a])}, nor anything that it "
                        "PO-precedes."
                    )
    return ""


def _causal_order(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        known = [t for t in h["delivered"][p] if was_abcast(h, t)]
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
}
