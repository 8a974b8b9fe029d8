"""Explain why a state of the protocol cannot produce the next observation: the guard that fails, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from traces.zookeeper.conform.record import Observation
from traces.zookeeper.conform.unbounded import Unbounded
from zabspec.zookeeper.state import FOLLOWING, LEADING, LOOKING, PHASES, SERVING

if TYPE_CHECKING:
    from traces.zookeeper.conform.search import RecordSearch


def why_not(search: RecordSearch, s: Unbounded, o: Observation) -> Iterator[str]:
    """Yield the reasons for one state; none if the nearest steps already explain it."""
    if (said := search.contradiction(o)) is not None:
        yield said
    if said is not None or o.what != "packet":
        return
    f, l = search.index[o.follower], search.index[o.leader]
    sender, number = (f, o.follower) if o.up else (l, o.leader)
    if search.names["is_down"](s, sender):
        yield f"server {number} is down"
        return
    if o.kind == "FOLLOWERINFO":
        yield from of_election(search, s, f, l, o)
        return
    if s.role[sender] != (FOLLOWING if o.up else LEADING):
        yield f"server {number} {('looks for a leader', 'follows', 'leads')[s.role[sender]]}"
        return
    from traces.zookeeper.conform.search import zxid_in

    zxid = zxid_in(search.text, o.zxid)
    if o.kind == "COMMIT":
        yield from of_commit(search, s, l, zxid, o)
    elif o.kind == "PROPOSAL" and s.phase[l] == SERVING and zxid != s.last_proposed[l] + 1:
        yield f"server {o.leader} has proposed up to {search.real(s.last_proposed[l]):#x}"
    elif o.kind == "ACK" and o.zxid & 0xFFFFFFFF:
        if zxid in s.log[f]:
            yield f"server {o.follower} has logged {o.zxid:#x}, and has acknowledged it before"
        elif zxid not in s.sync_queue[f] and zxid not in s.not_logged[f]:
            yield f"server {o.follower} has received no proposal {o.zxid:#x}"
    elif o.kind in ("NEWLEADER", "LEADERINFO") and s.term[l] != o.zxid >> 32:
        yield f"server {o.leader} leads epoch {s.term[l]}, and is in {PHASES[s.phase[l]]}"
    elif o.kind == "ACKEPOCH":
        yield (
            f"server {o.follower} has currentEpoch {s.current_epoch[f]}, and its last zxid is "
            f"{search.real(s.last_processed[f]):#x}"
        )
    elif o.kind == "UPTODATE" and s.phase[l] != SERVING:
        yield f"server {o.leader} does not serve: NEWLEADER is acknowledged by {told(search, s.new_leader_acks[l])}"


def of_election(search: RecordSearch, s: Unbounded, f: int, l: int, o: Observation) -> Iterator[str]:
    if s.accepted_epoch[f] != o.zxid >> 32:
        yield f"server {o.follower} has acceptedEpoch {s.accepted_epoch[f]}"
    elif s.role[f] != LOOKING:
        yield f"server {o.follower} is still in a term"
    elif s.role[l] == LOOKING and not search.names["may_elect"](s, l, 1 << f):
        votes = [f"({s.current_epoch[p]}, {search.real(s.last_processed[p]):#x})" for p in (f, l)]
        yield f"server {o.follower} does not elect {o.leader}: its vote is {votes[0]}, the other's {votes[1]}"
    elif s.role[l] == LEADING:
        yield f"server {o.follower} cannot join {o.leader}: no quorum is behind it, or an old connection is open"


def of_commit(search: RecordSearch, s: Unbounded, l: int, zxid: int, o: Observation) -> Iterator[str]:
    if zxid in s.outstanding[l]:
        acks = s.acks[l][zxid % search.text.width]
        yield f"{o.zxid:#x} is acknowledged by {told(search, acks)}, which is not a quorum"
    elif zxid > s.last_proposed[l]:
        yield f"server {o.leader} has not proposed {o.zxid:#x}"
    elif zxid <= s.last_committed[l]:
        yield f"server {o.leader} has committed {o.zxid:#x} before"


def told(search: RecordSearch, members: object) -> str:
    numbers = [str(search.record.servers[p]) for p in members]  # type: ignore[attr-defined]
    return f"server {', '.join(numbers)}" if numbers else "nobody"
