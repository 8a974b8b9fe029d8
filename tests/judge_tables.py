"""Histories as event tables, for the tests of `zabcheck judge`."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from checker.explore.compiled import Compiled
from tests.histories import (
    JUDGED,
    Abcast,
    Accept,
    Deliver,
    Establish,
    History,
    Instance,
    MadeUp,
    Replace,
    Synthetic,
    Txn,
)
from traces.events.table import Rows, TableWriter, parts_of
from traces.judging.runs import BITS, BY_MOMENT, KERNEL
from traces.judging.runs import JUDGED as OF_TABLES
from traces.judging.totals import COUNTS, Totals, Unit, judge_unit

ALL = (1 << len(BITS)) - 1
Verdicts = dict[str, str]
Moments = Sequence[int | None]  # of each event the time


def txn_columns(t: Txn) -> dict[str, int]:
    return {"epoch": t.epoch, "counter": t.counter, "identity": t.value}


def rows_of(h: History, run: int = 0, moments: Moments | None = None) -> Rows:
    """A history as rows, event k in moment k unless the moments are given."""
    rows = Rows(run, h.nodes)
    for k, e in enumerate(h.events):
        now = {"time": k if moments is None else moments[k]}
        if isinstance(e, Abcast):
            now |= {"primary_epoch": e.instance.epoch, "attempt": e.instance.attempt}
            rows.add("abcast", e.process, **now, **txn_columns(e.txn))
        elif isinstance(e, Deliver):
            rows.add("abdeliver", e.process, **now, **{"pass": e.passing}, **txn_columns(e.txn))
        elif isinstance(e, Accept):
            rows.add("accept", e.process, **now, primary_epoch=e.epoch, **txn_columns(e.txn))
        elif isinstance(e, Establish):
            rows.add("establish", None, **now, primary_epoch=e.epoch)
            for t in e.initial:
                rows.add("initial", None, **now, **txn_columns(t))
        else:
            assert isinstance(e, Replace)
            rows.add("revise", e.process, **now, **{"pass": e.passing})
            for t in e.history:
                rows.add("entry", e.process, **now, **txn_columns(t))
    rows.columns["time"][0] = rows.columns["time"][1] if len(rows) > 1 else None
    return rows


def written(path: Path, many: Iterable[Rows], **settings: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    with TableWriter(path, **settings) as writer:
        for rows in many:
            writer.add(rows)
    return path


def verdicts_of(tally: Totals) -> Verdicts:
    """The verdicts of the one run that was judged; a property that was not asked of it is not judged."""
    assert tally.runs == 1
    said = {p.name: tally.counts[k] for k, p in enumerate(OF_TABLES)}
    return {name: COUNTS[int(counts.argmax())] if counts.any() else "not judged" for name, counts in said.items()}


def judged_alone(path: Path, h: History, moments: Moments | None = None) -> Verdicts:
    """What the judge of tables says of one history."""
    written(path, [rows_of(h, 0, moments)])
    return verdicts_of(judge_unit(Unit(tuple(parts_of(path))), ALL))


# --- what the properties in memory say -----------------------------------------------------------


@cache
def compiled_for(nodes: int, txns: int, epochs: int) -> Compiled:
    return Compiled(Synthetic.of(nodes, txns, epochs).model, JUDGED, False)


def in_memory(h: History, moments: Moments | None = None, txns: int = 4, epochs: int = 3) -> Verdicts:
    """What `invariants/` says of a history at the end of its moments; for `delivered-stands`, which
    made-up histories cannot break, nothing."""
    code = compiled_for(h.nodes, txns, epochs)
    s = Synthetic.of(h.nodes, txns, epochs)
    every = (1 << len(JUDGED)) - 1
    broken = met = 0
    for k, e in enumerate(h.events):
        s.replay(e)
        if k + 1 == len(h.events) or moments is None or moments[k] != moments[k + 1]:
            state = code.state(bytes(s.state.buffer))
            broken |= code.judge_state(state, every)
            met |= code.witness_state(state, every)
    out = {p.name: verdict(broken >> k & 1, met >> k & 1) for k, p in enumerate(JUDGED)}
    if moments and set(moments) == {None}:  # unknown where each event may be a moment of its own
        each = in_memory(h, None, txns, epochs)
        doubted = {n for n, word in each.items() if word == "violated" != out[n]}
        out |= {n: "open" for n in BY_MOMENT if doubted & {*BY_MOMENT} and out[n] != "violated"}
        out |= dict.fromkeys(doubted - KERNEL.keys(), "undecided")
    return out


def first_broken(h: History, moments: Sequence[int], txns: int = 4, epochs: int = 3) -> dict[str, int]:
    """The moments in which `invariants/` first says of a property that it is broken."""
    code = compiled_for(h.nodes, txns, epochs)
    s = Synthetic.of(h.nodes, txns, epochs)
    out: dict[str, int] = {}
    for k, e in enumerate(h.events):
        s.replay(e)
        if k + 1 == len(h.events) or moments[k] != moments[k + 1]:
            broken = code.judge_state(code.state(bytes(s.state.buffer)), (1 << len(JUDGED)) - 1)
            for bit, p in enumerate(JUDGED):
                if broken >> bit & 1:
                    out.setdefault(p.name, moments[k])
    return out


def verdict(broken: int | bool, met: int | bool) -> str:
    return "violated" if broken else "holds" if met else "premise not reached"


# --- histories made up at random -----------------------------------------------------------------


def made_up(source: random.Random, length: int, nodes: int = 3, txns: int = 4, epochs: int = 3) -> History:
    """A history made up at random, in which now and then something is delivered before it is abcast, or
    out of nowhere."""
    if source.random() < 0.25:
        return scattered(source, nodes, txns, epochs)
    h = MadeUp(source, nodes, txns, epochs).history(length)
    events = list(h.events)
    if events and source.random() < 0.25:
        for _ in range(source.randint(1, 2)):
            delivered = [k for k, e in enumerate(events) if isinstance(e, Deliver)]
            if delivered:
                at = source.choice(delivered)
                e = events.pop(at)
                assert isinstance(e, Deliver)
                to = source.randint(0, at)
                events.insert(to, Deliver(e.process, iteration(events[:to], e.process), e.txn))
    abcasts = sum(isinstance(e, Abcast) for e in events)
    if abcasts < txns and source.random() < 0.15:
        p, to = source.randrange(nodes), source.randint(0, len(events))
        nowhere = Txn(source.randint(1, epochs), 1, txns)
        events.insert(to, Deliver(p, iteration(events[:to], p), nowhere))
    return History(nodes, tuple(events))


def scattered(source: random.Random, nodes: int, txns: int, epochs: int) -> History:
    """A few transactions, of which every process delivers some in any order, perhaps in two passes."""
    events: list[Abcast | Deliver] = []
    known = []
    for k in range(source.randint(1, txns)):
        epoch = source.randint(1, epochs)
        counter = 1 + sum(t.epoch == epoch for t in known)
        known.append(Txn(epoch, counter, k + 1))
        events.append(Abcast(Instance(epoch, source.randrange(nodes), 0), known[-1]))
    for passing in (0, 1):
        turns: list[list[Abcast | Deliver]] = []
        for p in range(nodes):
            some = source.sample(known, source.randint(0, len(known)))
            if passing and source.random() < 0.7:  # what it delivered before, or a part of that
                some = [e.txn for e in events if isinstance(e, Deliver) and e.process == p][: len(some)]
            turns.append([Deliver(p, passing, t) for t in some])
        if not passing and source.random() < 0.4:  # some of it before it is abcast
            turns.append(events)
            events = []
        while any(turns):
            events.append(source.choice([turn for turn in turns if turn]).pop(0))
    return History(nodes, tuple(events))


def iteration(events: Iterable[object], p: int) -> int:
    """The iteration that a process is in after some events."""
    passes = [e.passing for e in events if isinstance(e, Deliver) and e.process == p]
    attempts = [e.instance.attempt for e in events if isinstance(e, Abcast) and e.process == p]
    return max([0, *passes, *attempts])


def some_moments(source: random.Random, h: History) -> Moments:
    """Events put together into moments at random; sometimes no times at all."""
    if source.random() < 0.2:
        return [None] * len(h.events)
    now, out = 0, []
    for _ in h.events:
        now += source.random() < 0.6
        out.append(now)
    return out
