"""Fold real disks into a state of the `zookeeper` protocol: transactions renamed, common ones merged.

A block is a range of transactions of one epoch that each server's log, and each newest snapshot, contains as a whole or
not at all: no step of the protocol can tell its transactions apart. What all servers have, from the beginning on, is
one block, <1,1>. Consecutive epochs that each server has all of or nothing of are one block, named in the last of them,
where no step can come to see the epoch of its first transaction (`joined`). Epochs are renumbered, so that equal ones
stay equal, and those that an election can begin have a number. Disks with more blocks or epochs than the protocol has
room for are not folded, and the reason is reported.

Snapshots other than the newest of each server are left out: the protocol of a release reads no other. committedLog is
cut to what a start keeps of it (`KEPT`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from invariants.binding import bound
from traces.zookeeper.audit.starting import REFUSES, STARTS, Start, read_by_start, start_of
from traces.zookeeper.disk.decode import zxid_text
from traces.zookeeper.disk.rules import Rules
from traces.zookeeper.disk.server import LOW, Server
from zabspec.authoring.declaration import ConfigError as NoModel
from zabspec.configuration import UNSET
from zabspec.ensemble import ConfigError, Ensemble
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.model import Configuration, Model
from zabspec.quorums import MOST, text_of
from zabspec.zoo_cfg import SAME
from zabspec.zookeeper.state import MOST_EPOCHS, WIDTH, counter_of, epoch_of, first_of

ELECTIONS = 2  # per run: an election that fails may be repeated
TIMEOUTS = 2  # per run: initLimit, where servers wait for messages that nobody sends
KEPT = 500  # ZKDatabase.commitLogCount
BESIDE = 8  # packets of a synchronization beside what it transfers
PROPOSALS = WIDTH - 3  # none is made; it says how many transactions a log has room for


class CannotFold(Exception):
    """These disks are no state of the protocol within its bounds; the message says why in one sentence."""


@dataclass(frozen=True)
class Block:
    """Transactions `lo` to `hi`, of one epoch or of consecutive ones, as the protocol's transaction `model`.

    If `is_open`, it stands for everything from `lo` to the epoch after `hi`, which only snapshots can contain.
    """

    lo: int
    hi: int
    model: int


@dataclass
class Disk:
    """A server's disk as a start reads it.

    Attributes:
        runs: the transactions of its logs, in their order. base: the newest snapshot; 0 if there is none, or an empty
            one.
        kept: the first transaction that committedLog keeps of those behind the snapshot; 0 for all.
    """

    server: Server
    start: Start
    runs: list[tuple[int, int]]
    base: int
    accepted: int
    kept: int = 0

    @property
    def top(self) -> int:
        """Return the last transaction on the disk, also if the server does not start."""
        return max(self.base, *(hi for _, hi in self.runs), 0)

    def logged(self, lo: int, hi: int) -> bool:
        return any(a <= lo and hi <= b for a, b in self.runs)

    def places(self, lo: int, hi: int) -> list[int]:
        """Return which of the runs have transactions."""
        return [n for n, (a, b) in enumerate(self.runs) if a <= lo and hi <= b]


@dataclass
class Folded:
    """The disks of an ensemble as a state of the model.

    Attributes:
        state: every server has started, or has refused to; nothing has been sent.
        numbers: the id of each process, ascending. disks: the given disks, by process.
        blocks: the first is what all have, if `settled`. epochs: the real epoch of each number.
    """

    release: str
    model: Model
    names: dict[str, Any]
    state: StateView
    numbers: tuple[int, ...]
    disks: dict[int, Disk]
    blocks: list[Block] = field(default_factory=list)
    epochs: dict[int, int] = field(default_factory=dict)
    settled: bool = False

    def epoch(self, model: int) -> int:
        """Return the real epoch of a model's; one that an election has made continues from the one before it."""
        known = max((m for m in self.epochs if m <= model), default=0)
        return self.epochs.get(known, 0) + model - known

    def zxid(self, model: int) -> int:
        """Return the real zxid of a model's: of a block, its last transaction."""
        if counter_of(model):
            return next((b.hi for b in self.blocks if b.model == model), 0)
        return self.epoch(epoch_of(model)) << 32

    def ranges(self, tree: int) -> list[tuple[int, int]]:
        """Return a set of transactions as ranges, merged where there is no gap."""
        out: list[tuple[int, int]] = []
        for b in self.blocks:
            if not tree >> b.model & 1:
                continue
            if out and out[-1][1] + 1 == b.lo:
                out[-1] = (out[-1][0], b.hi)
            else:
                out.append((b.lo, b.hi))
        return out

    def name(self, p: int) -> str:
        return self.disks[p].server.name if p in self.disks else f"server {self.numbers[p]} (not given)"


def fold(
    servers: Sequence[Server], numbers: dict[str, int], ensemble: Ensemble | None, ends: dict[int, int], rules: Rules,
    applied: int = 0,
) -> Folded:  # fmt: skip
    """Make a state of the disks of those that vote.

    Args:
        numbers: the id of each server by its name. ensemble: who votes; None for majorities of these servers.
        ends: of an epoch the last transaction that histories go on from. applied: the last transaction that is known
            to be applied, with which a block ends.

    Raises:
        CannotFold: they are none within the bounds.
    """
    ids = tuple(ensemble.participants) if ensemble is not None else tuple(sorted(numbers[s.name] for s in servers))
    if len(set(ids)) != len(ids):
        raise CannotFold("two servers have one number")
    if len(ids) > MOST:
        raise CannotFold(f"{len(ids)} servers vote, and a model has at most {MOST}")
    disks = {ids.index(numbers[s.name]): disk_of(s, rules) for s in servers if numbers[s.name] in ids}
    parts = segments(list(disks.values()), ends, applied)
    settled = settled_of(parts, list(disks.values()), ends)
    elected = begun({ids[p]: d.accepted for p, d in disks.items()}, ids, ensemble)
    parts = joined(parts, settled, list(disks.values()), ends, applied, elected)
    ranks = ranked(disks, settled, [hi for _, hi in parts if hi > settled], elected)
    blocks = numbered(parts, settled, ranks)
    model = model_for(rules.release, len(ids), max(ranks.values(), default=0), quorums_of(ensemble), len(blocks))
    names = bindings(model)
    epochs = {rank: epoch for epoch, rank in ranks.items()}
    out = Folded(rules.release, model, names, StateView(model.program.layout), ids, disks, blocks, epochs, settled > 0)
    try:
        fill(out, ranks, ends)
    except ERRORS as error:
        raise CannotFold(f"their histories have more parts than the model has room for ({error})") from None
    return out


def quorums_of(ensemble: Ensemble | None) -> str:
    """Return the quorums of an ensemble as configuration text; empty for majorities.

    Raises:
        CannotFold: no model has such quorums.
    """
    weightless = [n for n, weight in ensemble.weights.items() if not weight] if ensemble is not None else []
    if weightless:  # FastLeaderElection.totalOrderPredicate: its vote is never taken
        raise CannotFold(f"server {weightless[0]} has no weight, but in the model it could lead")
    try:
        return text_of(replace(ensemble, observers=())) if ensemble is not None else ""
    except ConfigError as problem:
        raise CannotFold(str(problem)) from None


def variant_of(release: str) -> str:
    """Return the variant of the protocol for a release."""
    return next(variant for variant, numbers in SAME.items() if release in numbers)


@lru_cache(maxsize=16)
def model_for(release: str, nodes: int, epochs: int, quorums: str, blocks: int) -> Model:
    """Return a model in which only time passes, nothing else fails, and nothing is proposed.

    Args:
        blocks: the most that a synchronization sends, a PROPOSAL and a COMMIT each.

    Raises:
        CannotFold: there is no room for so many epochs, or no model with such quorums.
    """
    elections = max(1, epochs + ELECTIONS - 1)
    if 1 + elections > MOST_EPOCHS:
        room = MOST_EPOCHS - ELECTIONS
        raise CannotFold(f"a run can distinguish {epochs} of their epochs, and the model has room for {room}")
    budgets = f"elections={elections},proposals={PROPOSALS},write_errors=0"
    try:
        asked = Configuration(
            "zookeeper", variant_of(release), nodes, UNSET, TIMEOUTS, 0, 0, 0, budgets=budgets, quorums=quorums
        )
        made = Model(asked)
        needed = BESIDE + 2 * blocks
        return made if max(made.channels) >= needed else Model(replace(asked, channel=needed))
    except (NoModel, ConfigError) as problem:
        raise CannotFold(str(problem).removeprefix("--quorums: ")) from None


@lru_cache(maxsize=16)
def bindings(model: Model) -> dict[str, Any]:
    return bound(model)


# --- what is on a disk ----------------------------------------------------------------------------------------


def disk_of(s: Server, rules: Rules) -> Disk:
    """Return the disk of a server as a start of a release reads it.

    Raises:
        CannotFold: the files do not determine what a start reads.
    """
    start, reading = start_of(s, rules.release, dict(rules.options)), read_by_start(s, rules)
    if reading.doubt:
        raise CannotFold(f"{s.name}: {reading.doubt}")
    s = reading.server
    unread = [r for r in s.runs if r.place >= reading.stop(r)]
    # below those that a start reads a TRUNC may cut
    hidden = [r for r in unread if reading.files and s.file_of(r).named >= reading.files[0][0].named]
    if hidden or (reading.forgets and s.runs):
        raise CannotFold(f"{s.name}: a start reads only a part of its logs")
    out = Disk(s, start, [], reading.from_zxid, s.epoch("acceptedEpoch", start.zxid >> 32))
    for r in s.runs:  # where a file ends, nothing parts
        if out.runs and r.link == "next" and r.lo == out.runs[-1][1] + 1 and r.lo & LOW != 1:
            out.runs[-1] = (out.runs[-1][0], r.hi)
        else:
            out.runs.append((r.lo, r.hi))
    behind = [(max(lo, out.base + 1), hi) for lo, hi in out.runs if hi > out.base]
    left = KEPT
    for lo, hi in reversed(behind):
        if hi - lo + 1 >= left:
            out.kept = hi - left + 1
            break
        left -= hi - lo + 1
    return out


def segments(disks: list[Disk], ends: dict[int, int], applied: int) -> list[tuple[int, int]]:
    """Return the transactions that exist as ranges, cut wherever two servers' logs or newest snapshots differ.

    They are also cut where a log or snapshot begins or ends, and behind what is known to be applied. Transactions that
    only snapshots can contain are included where an epoch's end is unknown and a snapshot is of a later epoch.
    """
    cuts = {z for d in disks for lo, hi in d.runs for z in (lo - 1, hi)} | {d.base for d in disks}
    cuts |= set(ends.values()) | {d.kept - 1 for d in disks if d.kept} | {applied}
    out: list[tuple[int, int]] = []
    epochs = sorted({z >> 32 for d in disks for z in (*(hi for _, hi in d.runs), d.base) if z})
    for n, epoch in enumerate(epochs):
        points = sorted({z for z in cuts if z >> 32 == epoch} | {epoch << 32})
        for a, b in pairwise(points):
            if any(d.logged(a + 1, b) or b <= d.base for d in disks):
                out.append((a + 1, b))
        following = epochs[n + 1] << 32 if n + 1 < len(epochs) else 0
        if epoch not in ends and any(following <= d.base for d in disks if following):
            out.append((points[-1] + 1, following - 1))
    return out


def is_open(hi: int) -> bool:
    """Return whether only snapshots can contain something of a range, so that its end is unknown."""
    return hi & LOW == LOW


def is_dead(hi: int, ends: dict[int, int]) -> bool:
    """Return whether histories continue from before a transaction, so that no later epoch's snapshot has it."""
    return hi > ends.get(hi >> 32, hi)


def holds(d: Disk, lo: int, hi: int, ends: dict[int, int]) -> bool:
    """Return whether a server has transactions, in its log or in its newest snapshot."""
    return d.logged(lo, hi) or in_snapshot(d, lo, hi, ends)


def in_snapshot(d: Disk, lo: int, hi: int, ends: dict[int, int]) -> bool:
    """Return whether the newest snapshot contains transactions.

    It contains all that is not later than itself, except what a later epoch has left out. It also contains what its
    server's own log has of its own last epoch.
    """
    if hi > d.base:
        return False
    return not is_dead(hi, ends) or (d.logged(lo, hi) and hi >> 32 == d.base >> 32)


def settled_of(parts: list[tuple[int, int]], disks: list[Disk], ends: dict[int, int]) -> int:
    """Return the last transaction up to which all servers have the same; 0 if there is none."""
    settled = 0
    for lo, hi in parts:
        if all(holds(d, lo, hi, ends) for d in disks):
            settled = settled if is_open(hi) else hi
        elif not is_dead(hi, ends) or any(d.top <= hi for d in disks):
            break
    return settled


# --- renaming ----------------------------------------------------------------------------------------------------


def named_epochs(disks: Iterable[Disk], settled: int) -> set[int]:
    """Return the epochs that are on the disks beside those of the transactions behind what is settled."""
    found = {settled >> 32}
    for d in disks:
        found |= {max(0, d.start.epoch), d.accepted, *([d.base >> 32] if d.base > settled else [])}
    return found


def begun(accepted: dict[int, int], ids: Sequence[int], ensemble: Ensemble | None) -> set[int]:
    """Return the epochs that elections can begin: the next of the latest that a quorum has accepted.

    Args:
        accepted: acceptedEpoch by the number of a server.
    """
    out = set()
    for most in accepted.values():
        inside = frozenset(n for n, epoch in accepted.items() if epoch <= most)
        if ensemble.is_quorum(inside) if ensemble is not None else 2 * len(inside) > len(ids):
            out |= {most + n for n in range(1, ELECTIONS + 1)}
    return out


def joined(
    parts: list[tuple[int, int]], settled: int, disks: list[Disk], ends: dict[int, int], applied: int, elected: set[int]
) -> list[tuple[int, int]]:
    """Join ranges of consecutive epochs that no step can tell apart behind what is settled.

    All of a range's records are with each server or none: in its log, one behind the other, in its snapshot, in
    what committedLog keeps. No epoch that has another meaning is left out. What a synchronization or committedLog
    begins with stays by itself, since a leader looks at its epoch (LearnerHandler.queueCommittedProposals).

    Args:
        elected: the epochs that elections can begin.
    """
    fixed = named_epochs(disks, settled)
    points = {0, applied, settled, *(z for d in disks for z in (d.base, d.top, d.start.zxid, d.kept - 1))}
    firsts = {
        next((part for part in parts if part[0] > z and holds(d, *part, ends)), (0, 0)) for d in disks for z in points
    }
    out: list[tuple[int, int]] = []
    last = (0, 0)  # of what `out` ends with
    for part in parts:
        (a, b), (lo, hi) = last, part
        # no server's history ends in the epoch that the first of them is of
        alone = a & LOW == 1 or not any(z >> 32 == a >> 32 for z in points)
        one = a > settled and alone and lo & LOW == 1 and last not in firsts and not is_open(b) and not is_open(hi)
        one = one and b >> 32 < lo >> 32 and b >> 32 not in fixed | elected and hi >> 32 not in elected
        one = one and b != applied and not is_dead(b, ends) and not is_dead(hi, ends)
        if one and all(goes_on(d, last, part, ends) for d in disks):
            out[-1] = (out[-1][0], hi)
        else:
            out.append(part)
        last = part
    return out


def goes_on(d: Disk, one: tuple[int, int], two: tuple[int, int], ends: dict[int, int]) -> bool:
    """Return whether a server has both of two ranges or none, the one behind the other."""
    mine, next_ones = d.places(*one), d.places(*two)
    if len(mine) > 1 or [n + 1 for n in mine] != next_ones:
        return False
    if mine and (d.runs[mine[0]][1] != one[1] or d.runs[next_ones[0]][0] != two[0]):
        return False
    return in_snapshot(d, *one, ends) == in_snapshot(d, *two, ends) and (one[0] < d.kept) == (two[0] < d.kept)


def ranked(disks: dict[int, Disk], settled: int, later: list[int], elected: set[int]) -> dict[int, int]:
    """Return a number for each epoch that a step can distinguish: those there are, and those an election can begin."""
    found = {z >> 32 for z in later} | named_epochs(disks.values(), settled)
    found |= {e for e in elected if e < max(found)}
    return {epoch: rank for rank, epoch in enumerate(sorted(e for e in found if e > 0), 1)}


def numbered(parts: list[tuple[int, int]], settled: int, ranks: dict[int, int]) -> list[Block]:
    """Return the blocks with the numbers of their model transactions.

    Raises:
        CannotFold: an epoch has more blocks than the model has room for, or is that of a standalone server.
    """
    if any(z and not z >> 32 for z in (settled, *(hi for _, hi in parts if hi > settled))):
        raise CannotFold("transactions of epoch 0 are those of a standalone server, which the model does not have")
    out: list[Block] = []
    if settled:
        first = min(lo for lo, _ in parts)
        out.append(Block(first, settled, first_of(ranks[settled >> 32]) + 1))
    for lo, hi in parts:
        if hi <= settled:
            continue
        same = [b for b in out if b.hi >> 32 == hi >> 32]
        counter = (
            counter_of(same[-1].model) + (1 if same[-1].hi + 1 == lo else 2)
            if same
            else 1 + (lo & LOW != 1 and lo >> 32 == hi >> 32)
        )
        if counter >= WIDTH:
            raise CannotFold(f"histories of epoch {lo >> 32} part in more than {WIDTH - 1} places ({zxid_text(lo)})")
        out.append(Block(lo, hi, first_of(ranks[hi >> 32]) + counter))
    return out


def fill(out: Folded, ranks: dict[int, int], ends: dict[int, int]) -> None:
    """Put the disks into the state, and start every server with the protocol's own step.

    Raises:
        CannotFold: the step and what is known of a start differ.
    """
    s, names = out.state, out.names
    names["initialize"](s)
    s.elections_left, s.proposals_left = ELECTIONS, 0
    for p, d in out.disks.items():
        for lo, hi in d.runs:
            for b in out.blocks:
                if lo <= b.hi <= hi:  # of what is settled its end is enough
                    s.log[p].append(b.model)
        settled = out.blocks[0].hi if out.settled else 0
        tree = sum(1 << b.model for b in out.blocks if b.hi == settled or in_snapshot(d, b.lo, b.hi, ends))
        if d.base and d.base >= settled:
            at = next((b.model for b in out.blocks if b.hi == d.base), 0)
            s.snapshot_names[p].append(at if d.base & LOW else first_of(ranks.get(d.base >> 32, 0)))
            s.snapshot_trees[p].append(tree)
        s.current_epoch[p], s.accepted_epoch[p] = ranks.get(d.start.epoch, 0), ranks.get(d.accepted, 0)
        if d.start.outcome == REFUSES:
            s.refused[p] = True
            continue
        names["on_recovery"](s, p)
        while d.kept and len(s.committed_log[p]) and out.zxid(int(s.committed_log[p][0])) < d.kept:
            s.committed_log[p].pop(0)
        if s.refused[p] or d.start.outcome != STARTS or out.zxid(int(s.last_processed[p])) != d.start.zxid:
            raise CannotFold(f"{d.server.name}: from these files the model starts differently than a real server")
