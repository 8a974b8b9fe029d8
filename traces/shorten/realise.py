"""Search for a plain seeded run that violates a property, as a counterexample says is possible.

A counterexample chooses every delay and every fault. Here nothing is chosen but the seed and the options of `zabcheck
simulate`. Attempts are numbered, and the number determines the run. They go from plain runs (the lab's delays, no
fault) to rough ones (long delays, blocked links, scheduled faults), so that the first violation found is among the
plainest.
"""

from __future__ import annotations

import os
import random
import shlex
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from threading import Thread
from time import sleep

from traces.judging.simulated import breaks, judged_properties
from zabspec.limits import Deadline
from zabspec.model import Configuration
from zabspec.protocols.registry import PROTOCOLS
from zabspec.signals import Working, deaf
from zabspec.simulator.loop import FAULTS
from zabspec.simulator.run import Fault, Run, SimulationError

BATCH = 200
PATIENCE = 5.0  # seconds for making a run that was found plainer
# How many attempts in a row are of one roughness; then come the rougher, and all again with new seeds.
ROUND = 5 * BATCH


@dataclass(frozen=True)
class Wanted:
    """What to search for.

    Attributes:
        property_name: the property to violate.
        run: what all runs have in common.
        faults: the kinds of fault that a run may have; all for this project's own protocols.
    """

    property_name: str
    run: Run
    faults: frozenset[str] = frozenset(FAULTS)


@dataclass(frozen=True)
class Realised:
    """The result of a search: the run, the tick at which it violates the property, and the number of attempts."""

    run: Run
    tick: int
    attempts: int


def wanted_of(property_name: str, c: Configuration) -> Wanted:
    """Return what to search for, to realise a counterexample of a configuration.

    For a user protocol only the faults that the configuration has a budget for are used: a protocol without a crash
    budget need not survive a crash.
    """
    found = PROTOCOLS[c.protocol]
    ours = found.declared.bounded_by_world
    run = Run(
        0, c.nodes, protocol=c.protocol, variant=c.variant, budgets=c.budgets, parameters=c.parameters, start=c.start,
        network="" if ours and c.network in ("fifo", "datagrams") else c.network,  # those are the usual ones
        quorums=c.quorums,
    )  # fmt: skip
    if ours:
        return Wanted(property_name, run)
    lossy = "lose" in found.world.lacks or c.losses + c.partitions > 0  # what a cut costs, where it costs something
    costs = {
        "crash": c.crashes,
        "recover": c.crashes,
        "timeout": c.timeouts,
        "lose": c.losses,
        "cut": lossy,
        "heal": lossy,
    }
    faults = frozenset(kind for kind, left in costs.items() if left) - found.world.lacks
    return Wanted(property_name, run, faults)


def attempt(wanted: Wanted, number: int) -> Run:
    """Return the run of an attempt; its number determines the run."""
    roughness = number // BATCH % (ROUND // BATCH)
    seed = number // ROUND * BATCH + number % BATCH
    source = random.Random(number)
    rounds = source.choice((600, 1000, 2000))
    run = replace(wanted.run, seed=seed, rounds=rounds, proposals=source.choice((3, 5, 10, 20, 40)))
    if roughness >= 1:
        run = replace(run, delays=source.choice((10, 40, 90, 150)))
    if roughness >= 2 and run.nodes > 1:
        run = replace(run, faults=tuple(f for f in _faults(run, source, roughness) if f.kind in wanted.faults))
    return run


def _faults(run: Run, source: random.Random, roughness: int) -> Iterator[Fault]:
    """Return a schedule of faults: cut links, and for rougher runs crashes and faults of connections."""

    def some() -> int:
        return source.randrange(run.nodes)

    for _ in range(source.randint(1, 3 * roughness)):
        tick = source.randrange(run.rounds - 1)
        until = min(run.rounds - 1, tick + source.choice((20, 100, 300)))
        a, b = source.sample(range(run.nodes), 2)
        yield Fault(tick, "cut", a, b)
        yield Fault(until, "heal", a, b)
        if source.random() < 0.7:
            yield Fault(tick, "cut", b, a)
            yield Fault(until, "heal", b, a)
    if roughness >= 3:
        p, tick = some(), source.randrange(run.rounds - 1)
        yield Fault(tick, "crash", p)
        yield Fault(min(run.rounds - 1, tick + source.choice((1, 50, 200))), "recover", p)
    if roughness >= 4:
        for _ in range(source.randint(1, 4)):
            yield Fault(source.randrange(run.rounds), "timeout", some())
            if "lose" not in PROTOCOLS[run.protocol].world.lacks:
                f, l = source.sample(range(run.nodes), 2)
                yield Fault(source.randrange(run.rounds), "lose", f, l)


def _first_of(wanted: Wanted, numbers: range, bit: int, until: Deadline) -> tuple[int, int]:
    """Return the first attempt that violates the property (-1 if none does), and how many attempts were made.

    Args:
        until: the deadline, on the clock that all processes share.
    """
    made = 0
    for number in numbers:
        if until.over():
            break
        made += 1
        try:
            if breaks(attempt(wanted, number), bit) >= 0:
                return number, made
        except SimulationError:
            continue  # a run that bursts its room shows nothing
    return -1, made


def _end_with(parent: int) -> None:
    """Make a worker process end with its parent, and ignore signals, which the parent handles."""
    deaf()

    def watch() -> None:
        while os.getppid() == parent:
            sleep(0.5)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def realise(wanted: Wanted, attempts: int, seconds: float, workers: int) -> Realised | int:
    """Search for a run that violates the property, on several cores.

    Args:
        attempts: the most attempts.
        seconds: when to give up; the program is compiled before the clock runs.
        workers: the number of processes.

    Returns:
        The attempt with the lowest number that violates the property, or how many were made.

    Raises:
        KeyError: simulated runs are not checked against the property.
        KeyboardInterrupt: as it came; nothing is left running.
    """
    names = [p.name for p in judged_properties(wanted.run.protocol)]
    if wanted.property_name not in names:
        raise KeyError(wanted.property_name)
    bit = names.index(wanted.property_name)
    _first_of(wanted, range(1), bit, Deadline())  # compiled once, before there are others to compile it too
    until = Deadline(seconds)
    parts = iter(range(start, min(start + BATCH, attempts)) for start in range(0, attempts, BATCH))
    workers = min(workers, -(-attempts // BATCH))
    running: set[Future[tuple[int, int]]] = set()
    done, found = 0, -1
    with Working(workers, _end_with, os.getpid()) as pool:
        while True:
            while len(running) < 2 * workers and found < 0 and not until.over():
                part = next(parts, None)
                if part is None:
                    break
                running.add(pool.submit(_first_of, wanted, part, bit, until))
            if not running:
                break
            ready = wait(running, timeout=1, return_when=FIRST_COMPLETED).done
            running -= ready
            for future in ready:
                number, made = future.result()
                done += made
                if number >= 0 and (found < 0 or number < found):
                    found = number
    if found < 0:
        return done
    run = _plainer(attempt(wanted, found), bit, Deadline(PATIENCE))
    return Realised(run, breaks(run, bit), done)


def _plainer(run: Run, bit: int, until: Deadline) -> Run:
    """Return the run with as few proposals and faults as still violate the property."""

    def fewer() -> Iterator[Run]:
        for k in reversed(range(len(run.faults))):
            yield replace(run, faults=run.faults[:k] + run.faults[k + 1 :])
        for proposals in range(1, run.proposals):
            yield replace(run, proposals=proposals)

    shorter = True
    while shorter and not until.over():
        shorter = False
        for plainer in fewer():
            try:
                if breaks(plainer, bit) >= 0:
                    run, shorter = plainer, True
                    break
            except SimulationError:
                continue
            if until.over():
                break
    return run


def command_line(run: Run) -> str:
    """Return the command that simulates a run and checks it."""
    words = ["zabcheck simulate"]
    if run.protocol != Run.protocol:
        words.append(f"--protocol {shlex.quote(run.protocol)}")
    if run.variant:
        words.append(f"--variant {run.variant}")
    if run.network:
        words.append(f"--network {run.network}")
    if run.oracle:
        words.append(f"--oracle {run.oracle}")
    if run.start:
        words.append(f"--start {shlex.quote(run.start)}")
    if run.quorums:
        words.append(f"--quorums {shlex.quote(run.quorums)}")
    words += [f"--parameter {part}" for part in run.parameters.split(",") if part]
    words += [f"--budget {budget}" for budget in run.budgets.split(",") if budget]
    words.append(f"--seed {run.seed} --nodes {run.nodes} --rounds {run.rounds}")
    if PROTOCOLS[run.protocol].transactions:
        words.append(f"--proposals {run.proposals}")
    if (run.least_delay, run.delays) != (1, 3):
        words.append(f"--delay {run.least_delay}:{run.least_delay + run.delays - 1}")
    if run.blocked:
        words.append("--partition " + ",".join(f"{a},{b}" for a, b in run.blocked))
    for f in run.faults:
        who = f"{f.a}:{f.b}" if f.b >= 0 else f"{f.a}"
        words.append(f"--{f.kind} {who}@{f.tick}")
    return " ".join([*words, "--check"])
