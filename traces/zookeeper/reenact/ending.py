"""Find what is broken at the last step, and does not show once the servers have gone on.

These are a server that leaves for a packet, an answer that is not counted, a server without its leader's history, and
a disk with the epoch of a leader and not with what that one began with.
"""

from __future__ import annotations

import re

from traces.zookeeper.reenact.plan import VOTERS, ReenactmentPlan
from traces.zookeeper.reenact.player import NOT_CUT, Player
from zabspec.zookeeper.state import LEADING, SERVING

THREW = re.compile(
    r"^.*(?:Exception when following the leader|Unexpected exception).*\n((?:[\w.]+(?:Exception|Error)).*)$", re.M
)
OTHER_ANSWER = re.compile(r"^.*NEWLEADER ACK from sid.*$", re.M)


def at_the_end(player: Player, plan: ReenactmentPlan) -> list[str]:
    """Return, as sentences, what is broken at the last step and can only be seen then."""
    out: list[str] = []
    step = plan.steps[-1]
    if step.process is None:
        return out
    n = plan.ids[step.process]
    said = player.said(step.process)
    if "no-stop" in plan.broken and (left := [x for x in player.played.exits if x.step == step.number]):
        reason = NOT_CUT.search(said)
        assert reason is not None
        out.append(
            f"server {n} exits with code {left[0].code} because of a packet from its leader: {reason[0].strip()}"
        )
    elif "no-stop" in plan.broken and (found := THREW.search(said)) is not None:
        out.append(f"server {n} ends its synchronization because of a packet from its leader: {found[1].strip()}")
    if "answers-count" in plan.broken and (line := OTHER_ANSWER.search(said)) is not None:
        out.append(f"server {n} mistakes another acknowledgement for that of NEWLEADER: {line[0].split(' - ')[-1]}")
    if "answers-count" in plan.broken:
        out += uncounted(player, plan)
    if "initial-history" in plan.broken:
        out += behind(player, plan)
    if "epoch-has-its-history" in plan.broken:
        out += ahead(player, plan)
    return out


def uncounted(player: Player, plan: ReenactmentPlan) -> list[str]:
    """Return the transactions that a quorum has forced and acknowledged but that are not committed, as sentences.

    All acknowledgements have been read at that point.
    """
    s, z = plan.steps[-1].state, player.compare.zxids
    out = []
    for l, n in enumerate(plan.ids):
        for zxid in s["outstanding"][l] if s["phase"][l] == SERVING else ():
            holders = [m for m in plan.ids[:VOTERS] if z.real(zxid) in player.ensemble.servers[m].on_disk().log]
            on_the_way = any(m["kind"] == "ACK" and m["zxid"] == zxid for links in s["to_leader"] for m in links[l])
            mine = [w for w in player.played.writes if w.zxid == zxid]
            if len(holders) > 1 and not on_the_way and not any(w.result.ready() for w in mine):
                said = ", ".join(map(str, sorted(holders)))
                out.append(
                    f"{z.said(zxid)} is forced on servers {said} and acknowledged, and server {n}, which leads, does "
                    "not commit it: it mistook an acknowledgement for that of NEWLEADER"
                )
    return out


def behind(player: Player, plan: ReenactmentPlan) -> list[str]:
    s, z = plan.steps[-1].state, player.compare.zxids
    out = []
    for p, n in enumerate(plan.ids):
        if s["phase"][p] == SERVING and (s["founded"][s["term"][p]] | s["tree"][p] | 1) != s["tree"][p] | 1:
            mode, zxid = player.ensemble.servers[n].status()
            what = f"server {n} serves clients as {mode or 'nothing'} at {z.told(zxid)}"
            out.append(f"{what}, without all that its leader began with")
    return out


def ahead(player: Player, plan: ReenactmentPlan) -> list[str]:
    """Return the servers that vote whose disk has an epoch, and not what its leader began with, as sentences."""
    s, z = plan.steps[-1].state, player.compare.zxids
    out = []
    for p, n in enumerate(plan.ids[:VOTERS]):
        disk, epoch = player.ensemble.servers[n].on_disk(), s["current_epoch"][p]
        last = max(disk.snapshots, default=0)
        began = [zxid for zxid in range(1, s["founded"][epoch].bit_length()) if s["founded"][epoch] >> zxid & 1]
        lost = [z.said(zxid) for zxid in began if z.real(zxid) not in disk.log and last < z.real(zxid)]
        if lost and disk.current == z.epoch(epoch):
            serves = [m for l, m in enumerate(plan.ids) if s["role"][l] == LEADING and s["phase"][l] == SERVING]
            leaders = [m for m in serves if s["term"][plan.ids.index(m)] == epoch]
            out.append(
                f"server {n} has currentEpoch {epoch} on its disk, and not {', '.join(lost)}, with which the leader of "
                f"that epoch began{f' (server {leaders[0]})' if leaders else ''}"
            )
    return out
