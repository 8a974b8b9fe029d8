"""Why a run of Zab cannot be: the smallest events in it that break an invariant or a claim of the
paper's analysis. What a sentence says happened did happen, at the step it names.
"""

from __future__ import annotations

from collections.abc import Sequence

from traces.evidence import Evidence, Reason, same_instance, was_abcast
from traces.names import history_text, joined, process_name, process_names, txn_text
from traces.trace import JsonTxn
from zabspec import zab
from zabspec.worlds import actor

__all__ = ["REASONS", "STEP_REASONS"]


def _one_primary(e: Evidence) -> str:
    h = e.last
    for k in range(h["abcasts"]):
        if h["abcast_attempt"][k] > 0:
            mine = h["abcast_txn"][k]
            who = process_name(h["abcast_by"][k])
            for j in range(h["abcasts"]):
                other = h["abcast_txn"][j]
                if j != k and other["epoch"] == mine["epoch"] and not same_instance(h, j, k):
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


def _unique_zxid(e: Evidence) -> str:
    h = e.last
    for k in range(h["abcasts"]):
        mine = h["abcast_txn"][k]
        for j in range(k):
            other = h["abcast_txn"][j]
            if _zxid(other) == _zxid(mine):
                first, again = _broadcast(e, j), _broadcast(e, k)
                return f"{first}, and {again}: one zxid stands for two transactions."
    return ""


def _broadcast(e: Evidence, k: int) -> str:
    """Who broadcast the k-th transaction, and at which step."""
    h = e.last
    said = f"{process_name(h['abcast_by'][k])} broadcast {txn_text(h['abcast_txn'][k])}"
    for step in e.steps:
        if step.abcast == h["abcast_txn"][k]:
            return f"{said} (step {step.number})"
    return said


def _delivered_stands(e: Evidence) -> str:
    for p in e.nodes:
        if e.last["revised"][p] < 2:
            continue
        who, step = process_name(p), e.first("revised", p, 2)
        if step is None:
            return f"{who} replaced its history, and with it what it had delivered."
        before = e.states[step.number - 1]
        delivered, history = before["delivered"][p][: before["pass_length"][p]], step.state["history"][p]
        lacks = next((t for t in delivered if t not in history), None)
        how = "in which that does not come first" if lacks is None else f"which lacks {txn_text(lacks)}"
        return (
            f"{who}, which had delivered {history_text(delivered)}, replaced its history by "
            f"{history_text(history)}, {how} (step {step.number})."
        )
    return ""


def _delivered_is_chosen(e: Evidence) -> str:
    h = e.last
    for p in e.nodes:
        for t in h["delivered"][p]:
            if was_abcast(h, t) and h["chosen_epoch"][t["value"] - 1] == 0:
                k = t["value"] - 1
                by = [
                    f"{process_names(who)} in epoch {epoch}"
                    for epoch in range(len(h["established"]))
                    if (who := sorted({*_acceptors(e, k, epoch), *h["accepted"][epoch][k]}))
                ]
                who_did = f"only {joined(by)} accepted it" if by else "nobody accepted it"
                return f"{process_name(p)} delivered {txn_text(t)}, but no quorum has accepted it: {who_did}."
    return ""


def _durability(e: Evidence) -> str:
    h, quorum = e.last, len(e.nodes) // 2 + 1
    for p in e.nodes:
        for t in h["delivered"][p]:
            has = [q for q in e.nodes if t in h["history"][q]]
            if len(has) >= quorum:
                continue
            when = next((f" (step {s.number})" for s in e.steps if t in s.state["delivered"][p]), "")
            lost = [f"{process_name(q)} lost it at step {n}" for q in e.nodes if (n := _lost(e, q, t))]
            those = f"only {process_names(has)} has it" if has else "no process has it"
            told = f": {joined(lost)}" if lost else ""
            return (
                f"{process_name(p)} delivered {txn_text(t)}{when}, but {those} in its stable history, where a quorum "
                f"is {quorum} of {len(e.nodes)}{told}."
            )
    return ""


def _lost(e: Evidence, q: int, t: JsonTxn) -> int:
    """The last step at which t went from q's history, if it is not there in the end; 0: none."""
    had = [t in s["history"][q] for s in e.states]
    return 0 if had[-1] or True not in had else len(had) - had[::-1].index(True)


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
    if step.message is None or step.word.row.loses or step.word.row.message != "to_follower":
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
    if m is None or step.word.row.loses:
        return ""
    p, at = m.destination, f"(step {step.number})"
    who = process_name(p)
    if step.word.row.message == "to_follower" and m.kind == "NEWEPOCH":
        return _wrong_offer(e, p, before["leader"][p])
    if step.word.row.message == "to_follower" and m.kind == "NEWLEADER" and step.accepted:
        carried, mine = m.fields["history"], after["history"][p]
        if after["role"][p] != actor.DOWN and mine != carried:
            return (
                f"NEWLEADER carried {history_text(carried)}, but the history of {who} became {history_text(mine)} {at}."
            )
    stages = (before["stage"][p], after["stage"][p])
    if step.word.row.message == "to_leader" and stages == (zab.PROMISING, zab.SYNCHRONIZING):
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
    "invariant-5": _invariant_5,
    "invariant-5-literal": _invariant_5_literal,
    "one-primary-an-epoch": _one_primary,
    "one-leader-an-epoch": _one_leader,
    "chosen-in-later-histories": _chosen,
    "delivered-is-chosen": _delivered_is_chosen,
    "unique-zxid": _unique_zxid,
    "delivered-stands": _delivered_stands,
    "durability": _durability,
}
STEP_REASONS: dict[str, Reason] = {
    "invariant-1": _invariant_1,
    "invariant-2": _invariant_2,
    "invariant-3": _invariant_3,
    "invariant-4": _invariant_4,
}
