"""Check one long history without any task holding it: compare digests of blocks, and look at the rest one by one.

What is concluded, and why that is enough, is in `docs/explanation/judging.md`. In short: where every
pass is ascending in zxids, what it delivered is a set; where a block of it has the digest of what was abcast, it is the
whole block. So everything follows from the blocks of which a pass has only a part, those next to them, and the first
ones. The history restricted to their transactions is checked by the kernel for whole runs; every violation there is one
of the whole history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from traces.judging import blocks_kernel
from traces.judging.blocks import HALF_KNOWN, SHIFT, Chosen, Summary, drilled, summary_of
from traces.judging.numbers import G_OUTSIDER, MOST, NULL, OUT_OF_ORDER, PASS_BACK, TIME_BACK
from traces.judging.runs import BITS, ERRORS, JUDGED, KERNEL, Batch, judgeable, mask_of, of_name
from traces.judging.sentence import Violation, violation
from traces.judging.totals import Span, Totals, Unit
from traces.judging.unknowns import ALWAYS_SAID, Where, affected, among
from traces.tables.table import TableError

# Runs a function over many arguments, in threads or as tasks; the results in order.
Each = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], list[Any]]
Key = tuple[int, int]  # a block: epoch, number
LOOKED_AT = 1 << 22  # rows that may be looked at one by one

# Properties whose premise takes two abcasts; and those of them whose premise is looked for in the first delivered
# epochs, which is enough where every delivered transaction was abcast.
OF_TWO = (
    "local-primary-order", "global-primary-order", "primary-integrity", "po-causal-order", "strict-causality",
    "prefix", "causal-order", "unique-zxid",
)  # fmt: skip
OF_TWO_EPOCHS = ("global-primary-order", "primary-integrity", "causal-order")
NOT_LONG = ("chosen-in-later-histories", "delivered-is-chosen", "delivered-stands")


@dataclass
class Open:
    """The questions that the digests leave open.

    Attributes:
        blocks, zxids: the transactions to check one by one.
        order: whether every pass ascends in zxids, and visits no block twice.
        abcasts: whether the abcasts of every epoch do so too.
        one: whether every epoch has one instance that abcasts.
        grow: whether no process abcasts in an epoch earlier than one in which it abcast before.
        late: whether something was delivered before it was abcast.
    """

    blocks: set[Key] = field(default_factory=set)
    zxids: set[Key] = field(default_factory=set)
    order: bool = True
    abcasts: bool = True
    one: bool = True
    grow: bool = True
    late: bool = False


def judge_history(unit: Unit, asked: int, each: Each, shift: int = SHIFT, most: int = LOOKED_AT) -> Totals:
    """Check the one run of a long unit.

    Args:
        asked: the mask (`BITS`) of the properties to check.
        each: runs the work over the unit's parts.
        shift: a block is `1 << shift` counters of an epoch.
        most: the most rows that may be checked one by one.

    Raises:
        TableError: the run cannot be checked.
    """
    bases = [0]
    for part in unit.parts:
        bases.append(bases[-1] + part.rows)
    summaries = each(summary_of, [(p, base, shift) for p, base in zip(unit.parts, bases, strict=False)])
    check_joints(summaries)
    blocks = Blocks(summaries, "abcast" in unit.observes)
    found = blocks.open()
    rows = blocks.rows(found.blocks) + len(found.zxids) * (1 + len(blocks.passes))
    capped = rows > most
    if capped:
        found.blocks = blocks.fewer(found.blocks, most)
    chosen = Chosen(frozenset(found.blocks), frozenset(found.zxids), shift)
    pieces = each(drilled, [(p, base, chosen) for p, base in zip(unit.parts, bases, strict=False)])
    batch, texts, numbers = joined(pieces, unit.name)
    broken, met, more = 0, 0, 0
    for _, judged in batch.judged():
        broken, met, more = judged[0, 1:4].tolist()
    known = judgeable(unit.observes) & asked
    verdicts = concluded(found, (broken, met, blocks.counted(found.one)), capped, known, asked, blocks.sent)
    out = Totals(1, unit.rows)
    run = summaries[0].run
    left_open(out, verdicts, more, gaps_of(summaries), run)
    said = 0
    for p in JUDGED:
        if p.name in verdicts:
            out.say(p.name, verdicts[p.name])
            said |= (1 << BITS[p.name]) if verdicts[p.name] == "violated" else 0
    if said:
        out.violations = list(violations_of(batch, texts, numbers, said))
    out.spans.append(Span(run, run, unit.name, None))
    slow = [p.name for p in JUDGED if known >> BITS[p.name] & 1 and p.name not in KERNEL]
    left_out = [name for name in (*NOT_LONG, *slow) if name in verdicts and verdicts[name] == "not judged"]
    if left_out and (slow or set(unit.observes) >= {"accept"}):
        out.notes.append(f"run {run} is too long for one task: {', '.join(left_out)} of it is not checked")
    if "undecided" in verdicts.values():
        why = "zxids are out of order" if not (found.order and found.abcasts) else "more is violated"
        if more & ~sum(1 << bit for bit in ALWAYS_SAID) or gaps_of(summaries):
            why = "it has differences that the comparison of blocks cannot see"
        if capped:
            why = "too much differs to be checked"
        out.notes.append(f"run {run}: {why}, and undecided properties may hold or not")
    return out


def gaps_of(summaries: Sequence[Summary]) -> dict[int, int]:
    """Return the gaps of the whole run, by their bits, with the first row of each."""
    out: dict[int, int] = {}
    for s in summaries:
        for bit, row in s.seen.gaps.items():
            out.setdefault(bit, row)
    for bit in HALF_KNOWN:  # only where other rows say it
        if bit in out and not any(bit in s.seen.says for s in summaries):
            del out[bit]
    nodes = next((s.seen.nodes for s in summaries if s.seen.nodes), 0)
    outside = [s.seen.highest[1] for s in summaries if s.seen.highest[0] >= nodes > 0]
    return out | ({G_OUTSIDER: min(outside)} if outside else {})


def left_open(out: Totals, verdicts: dict[str, str], more: int, gaps: dict[int, int], run: int) -> None:
    """Mark properties as open or undecided where rows leave something unknown.

    Properties that depend on unknown values become open; those that depend on values that are not compared become
    undecided, even where a part of the history violates them.

    Args:
        out: receives the gaps.
        verdicts: by property; updated.
        more: the gaps of what was looked at one by one, as a mask.
        gaps: those of the whole run.
        run: its number.
    """
    mask = more | sum(1 << bit for bit in gaps)
    for name, because in affected(mask, blocks=True).items():
        if verdicts.get(name, "not judged") == "not judged":
            continue
        verdicts[name] = "open" if any(gap.null for gap in because) else "undecided"
        for gap in because:
            if gap.null:
                out.note_gap(name, gap.bit, Where(run, gaps.get(gap.bit, -1)))
    for gap in among(mask):
        if gap.bit in ALWAYS_SAID:
            out.note_gap("", gap.bit, Where(run, gaps.get(gap.bit, -1)))


def violations_of(batch: Batch, texts: Any, numbers: Any, said: int) -> Iterator[Violation]:
    """Yield the violations, with rows numbered in the whole run."""
    kinds = texts.column("kind")
    for name, rows in batch.witness(0).items():
        if said >> BITS[name] & 1:
            v = violation(batch, kinds, int(batch.runs[0]), 0, of_name(name), rows)
            yield replace(v, events=tuple(replace(e, row=int(numbers[e.row])) for e in v.events))


def joined(pieces: Sequence[tuple[Any, Any]], name: str) -> tuple[Batch, Any, Any]:
    import pyarrow as pa

    table = pa.concat_tables([t for t, _ in pieces], promote_options="permissive").unify_dictionaries()
    return Batch(table, name), table, np.concatenate([n for _, n in pieces])


def concluded(
    found: Open, looked_at: tuple[int, int, int], capped: bool, known: int, asked: int, sent: tuple[int, int]
) -> dict[str, str]:
    """Return the verdicts.

    Args:
        found: what the digests leave open.
        looked_at: for the restricted history the masks of violated properties and met premises, and the mask of
            premises that are met by counts if what is delivered was abcast, and once per pass.
        capped: not everything that was open was looked at.
        known: the mask of properties that the table covers.
        asked: the mask of properties to check.
        sent: the number of abcasts, and of their epochs.
    """
    broken, met, counted = looked_at
    order, abcasts, one = found.order and not capped, found.abcasts and not capped, found.one
    out: dict[str, str] = {}

    def stands(*names: str) -> bool:
        """Return whether these properties, which come earlier, are known to hold, even if not requested."""
        return all(enough[name] and not broken >> BITS[name] & 1 for name in names)

    enough: dict[str, bool] = {
        "integrity": abcasts and not found.late,
        "total-order": order,
        "primary-integrity": order and abcasts and one,
        "one-primary-an-epoch": one,
        "one-leader-an-epoch": True,
        "unique-zxid": abcasts,
    }
    # without total order a process may contradict itself, and a later moment may fill what it lacks
    alike = stands("total-order")
    enough["agreement"] = enough["global-primary-order"] = alike
    enough["causal-order"] = alike and abcasts and found.grow
    enough["local-primary-order"] = alike and abcasts and one
    enough["prefix"] = stands("local-primary-order")
    enough["po-causal-order"] = stands("integrity", "total-order", "agreement", "local-primary-order")
    enough["strict-causality"] = stands("integrity", "primary-integrity", "one-primary-an-epoch")
    for p in JUDGED:
        name, bit = p.name, 1 << BITS[p.name]
        if not asked & bit:
            continue
        if not known & bit or name in NOT_LONG or name not in KERNEL:
            out[name] = "not judged"
        elif broken & bit and name != "strict-causality":  # a chain of the abcasts that were left out may repair it
            out[name] = "violated"
        elif sent[0] < 2 and name in OF_TWO:
            out[name] = "premise not reached"
        elif not enough[name]:
            out[name] = "undecided"
        elif met & bit or (counted & bit and (name == "unique-zxid" or stands("integrity", "total-order"))):
            out[name] = "held"
        elif not counted & bit and (name not in OF_TWO_EPOCHS or sent[1] < 2 or stands("integrity")):
            out[name] = "premise not reached"
        else:
            out[name] = "undecided"
    return out


# --- from part to part -----------------------------------------------------------------------------


def check_joints(summaries: Sequence[Summary]) -> None:
    """Check that each part continues where the one before ended.

    Raises:
        TableError: one does not.
    """
    last = np.full(MOST, NULL)
    passes = np.full(MOST, NULL)
    time = NULL
    for s in summaries:
        if s.run != summaries[0].run:
            raise TableError(f"{s.name}: its rows are of more runs than its metadata says")
        first_position, last_position = s.positions
        here = first_position != NULL
        if (first_position[here] <= last[here]).any():
            raise TableError(f"{s.name}: {ERRORS[OUT_OF_ORDER]}")
        last = np.where(last_position != NULL, last_position, last)
        if s.times is not None:
            if s.times[0] < time:
                raise TableError(f"{s.name}: {ERRORS[TIME_BACK]}")
            time = s.times[1]
        for entry in s.entries[s.entries[:, blocks_kernel.E_ROLE] == 1]:
            p = entry[blocks_kernel.E_PROCESS]
            if NULL != entry[blocks_kernel.E_PASS] < passes[p]:
                raise TableError(f"{s.name}: {ERRORS[PASS_BACK]}")
        for entry in s.entries[s.entries[:, blocks_kernel.E_ROLE] == 1]:
            p = entry[blocks_kernel.E_PROCESS]
            passes[p] = max(passes[p], entry[blocks_kernel.E_PASS])


@dataclass(frozen=True)
class Whole:
    """The transactions of a block that one pass, or all instances, have: their number, and two sums."""

    count: int
    sums: tuple[int, int]


class Blocks:
    """The blocks of a history, from the summaries of its parts.

    Attributes:
        abcast: for each block what was abcast; if that is not recorded, the most that a pass has of it.
        passes: for each process and pass what it has of each block, and the row from which on it has it.
        delivered: the blocks of which any process delivers anything.
        order: all blocks, by epoch and number.
    """

    def __init__(self, summaries: Sequence[Summary], abcasts: bool) -> None:
        self.summaries = summaries
        entries = [s.entries for s in summaries]
        self.entries = np.concatenate(entries) if entries else np.zeros((0, blocks_kernel.ENTRY), np.int64)
        self.passes: dict[Key, dict[Key, Whole]] = {}
        self.complete_at: dict[Key, dict[Key, int]] = {}
        self.abcast: dict[Key, Whole] = {}
        self.counts: dict[Key, int] = {}
        for e in self.entries.tolist():
            block = (e[blocks_kernel.E_EPOCH], e[blocks_kernel.E_BLOCK])
            self.counts[block] = self.counts.get(block, 0) + e[blocks_kernel.E_COUNT]
            if e[blocks_kernel.E_ROLE] == 0:
                self.abcast[block] = more(self.abcast.get(block), e)
            else:
                who = (e[blocks_kernel.E_PROCESS], e[blocks_kernel.E_PASS])
                has = self.passes.setdefault(who, {})
                has[block] = more(has.get(block), e)
                self.complete_at.setdefault(who, {})[block] = e[blocks_kernel.E_LAST_ROW]
        if not abcasts:
            for has in self.passes.values():
                for block, part in has.items():
                    if block not in self.abcast or part.count > self.abcast[block].count:
                        self.abcast[block] = part
        self.delivered = {block for has in self.passes.values() for block in has}
        self.order = sorted(self.counts)
        self.place = {block: k for k, block in enumerate(self.order)}

    @property
    def sent(self) -> tuple[int, int]:
        """Return the number of abcasts, and of their epochs."""
        entries = self.entries[self.entries[:, blocks_kernel.E_ROLE] == 0]
        return int(entries[:, blocks_kernel.E_COUNT].sum()), len(set(entries[:, blocks_kernel.E_EPOCH].tolist()))

    def rows(self, blocks: set[Key]) -> int:
        return sum(self.counts.get(block, 0) for block in blocks)

    def fewer(self, blocks: set[Key], most: int) -> set[Key]:
        """Return the first of these blocks, as many as may be looked at."""
        out: set[Key] = set()
        rows = 0
        for block in sorted(blocks):
            rows += self.counts.get(block, 0)
            if rows > most:
                break
            out.add(block)
        return out

    def open(self) -> Open:
        """Return what the digests leave open."""
        found = Open()
        self.look_at_order(found)
        self.look_at_instances(found)
        self.look_at_arrivals(found)
        for who in self.passes:
            self.look_at_pass(who, found)
        self.look_at_primaries(found)
        for block in self.first_delivered():
            found.blocks.add(block)
        return found

    def first_delivered(self) -> Iterator[Key]:
        """Yield the first two delivered blocks of the first three epochs.

        The premises that are met anywhere, and do not follow from counts, are met there.
        """
        epochs: dict[int, list[Key]] = {}
        for block in sorted(self.delivered):
            epochs.setdefault(block[0], []).append(block)
        for epoch in sorted(epochs)[:3]:
            yield from epochs[epoch][:2]

    def counted(self, one: bool) -> int:
        """Return the mask of premises that are met by counts.

        Args:
            one: every epoch has one instance.
        """
        names = set()
        if any(sum(w.count for block, w in self.abcast.items() if block[0] == e) > 1 for e in self.first):
            names.add("unique-zxid")
        for has in self.passes.values():
            of_epoch: dict[int, int] = {}
            for block, part in has.items():
                of_epoch[block[0]] = of_epoch.get(block[0], 0) + part.count
            if sum(of_epoch.values()) > 1:
                names.add("strict-causality")
            if one and max(of_epoch.values()) > 1:
                names |= {"local-primary-order", "prefix", "po-causal-order", "causal-order"}
        return mask_of(sorted(names))

    def look_at_order(self, found: Open) -> None:
        """Check whether each pass, and the abcasts of each epoch, are ascending in zxids."""
        last: dict[tuple[int, ...], list[int]] = {}
        latest: dict[int, int] = {}
        for e in self.entries[np.argsort(self.entries[:, blocks_kernel.E_FIRST_ROW], kind="stable")].tolist():
            role = e[blocks_kernel.E_ROLE]
            key = (1, e[blocks_kernel.E_PROCESS], e[blocks_kernel.E_PASS]) if role else (0, e[blocks_kernel.E_EPOCH])
            before = last.get(key)
            zxid = (e[blocks_kernel.E_EPOCH], e[blocks_kernel.E_FIRST])
            wrong = e[blocks_kernel.E_FAULT] != 0
            if before is not None:
                wrong |= e[blocks_kernel.E_FIRST_ROW] <= before[blocks_kernel.E_LAST_ROW] or zxid <= (
                    before[blocks_kernel.E_EPOCH],
                    before[blocks_kernel.E_LAST],
                )
            if wrong:
                found.blocks.add((e[blocks_kernel.E_EPOCH], e[blocks_kernel.E_BLOCK]))
                if before is not None:
                    found.blocks.add((before[blocks_kernel.E_EPOCH], before[blocks_kernel.E_BLOCK]))
                if role:
                    found.order = False
                else:
                    found.abcasts = False
            if before is None or e[blocks_kernel.E_LAST_ROW] > before[blocks_kernel.E_LAST_ROW]:
                last[key] = e
            if not role:
                if e[blocks_kernel.E_EPOCH] < latest.get(e[blocks_kernel.E_PROCESS], e[blocks_kernel.E_EPOCH]):
                    found.grow = False
                    found.blocks.add((e[blocks_kernel.E_EPOCH], e[blocks_kernel.E_BLOCK]))
                latest[e[blocks_kernel.E_PROCESS]] = max(
                    latest.get(e[blocks_kernel.E_PROCESS], e[blocks_kernel.E_EPOCH]), e[blocks_kernel.E_EPOCH]
                )

    def look_at_instances(self, found: Open) -> None:
        """Check whether an epoch has one instance, and find the first abcast of each."""
        self.first: dict[int, tuple[int, int]] = {}  # of each epoch: row and process of its first abcast
        instance: dict[int, tuple[int, int]] = {}
        abcasts = self.entries[self.entries[:, blocks_kernel.E_ROLE] == 0]
        for e in abcasts[np.argsort(abcasts[:, blocks_kernel.E_FIRST_ROW], kind="stable")].tolist():
            epoch, who = e[blocks_kernel.E_EPOCH], (e[blocks_kernel.E_PROCESS], e[blocks_kernel.E_PASS])
            if epoch not in instance:
                instance[epoch] = who
                self.first[epoch] = (e[blocks_kernel.E_FIRST_ROW], e[blocks_kernel.E_PROCESS])
                found.zxids.add((epoch, e[blocks_kernel.E_FIRST]))
            elif instance[epoch] != who:
                found.one = False
                found.zxids.add((epoch, e[blocks_kernel.E_FIRST]))

    def look_at_arrivals(self, found: Open) -> None:
        """Check whether anything is delivered in a row before its abcast; each epoch's abcasts are ascending."""
        greatest: dict[int, int] = {}
        for s in self.summaries:
            for epoch, abcast, need, _ in s.epochs.tolist():
                if need != NULL and greatest.get(epoch, NULL) < need:
                    found.late = True
                    found.zxids.add((epoch, need))
                greatest[epoch] = max(greatest.get(epoch, NULL), abcast)

    def look_at_pass(self, who: Key, found: Open) -> None:
        """Find the blocks of which a pass has only a part, up to the last of which it has any.

        Of a gap, which is a sequence of blocks of which it has nothing, these are the first and the last, the first and
        the last of those that any process delivers (the others may be lost with their primary), and the block after it.
        At the end of the pass it is the next block that any process delivers.
        """
        has = self.passes[who]
        end = max(self.place[block] for block in has)
        gap: list[Key] = []
        partial = False  # it has some of the last block
        for block in self.order[: end + 1]:
            part = has.get(block)
            if part is None:
                gap.append(block)
                continue
            if gap:
                somewhere = [g for g in gap if g in self.delivered]
                found.blocks |= {gap[0], gap[-1], *somewhere[:1], *somewhere[-1:], block}
            before, partial = partial, part != self.abcast.get(block)
            if before or partial:
                found.blocks.add(block)
            gap = []
        beyond = (block for block in self.order[end + 1 :] if block in self.delivered)
        found.blocks |= set(islice(beyond, 1))

    def look_at_primaries(self, found: Open) -> None:
        """Check whether the primary of each epoch had delivered all of every earlier block before it abcast."""
        for process in {p for _, p in self.first.values() if p != blocks_kernel.NOBODY}:
            complete: dict[Key, int] = {}
            for (p, passing), has in self.passes.items():
                if p == process:
                    for block, part in has.items():
                        if part == self.abcast.get(block):
                            row = self.complete_at[p, passing][block]
                            complete[block] = min(complete.get(block, row), row)
            latest, which = -1, None
            waiting = sorted((epoch, row) for epoch, (row, p) in self.first.items() if p == process)
            for block in [*self.order, (1 << 62, 0)]:
                while waiting and waiting[0][0] <= block[0]:
                    _, row = waiting.pop(0)
                    if latest >= row and which is not None:
                        found.blocks.add(which)
                if block in self.delivered and block not in found.blocks and complete.get(block, 1 << 62) > latest:
                    latest, which = complete.get(block, 1 << 62), block


def more(known: Whole | None, e: Sequence[int]) -> Whole:
    """Add an entry to a block's sums."""
    known = known or Whole(0, (0, 0))
    sums = ((known.sums[0] + e[blocks_kernel.E_SUM]) % (1 << 64), (known.sums[1] + e[blocks_kernel.E_SUM2]) % (1 << 64))
    return Whole(known.count + e[blocks_kernel.E_COUNT], sums)
