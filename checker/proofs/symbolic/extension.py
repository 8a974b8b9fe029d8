"""Add the answers of z3 to the report of an exploration.

For each property: whether it is inductive, which no depth bounds; if not, up to which number of steps nothing violates
it; or that there was not enough time.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from checker.errors import NoVerdict
from checker.report.z3_answer import BOUNDED, INDUCTIVE, UNDECIDED, Z3Answer
from invariants.registry import TERMINAL, Property
from zabspec.model import Configuration, Model

TERMINAL_STATES = "not asked: z3 does not check properties of terminal states"
EPOCHS = 2  # the largest epoch of the induction, if none is given
STEPS = 60  # the depth of bounded checking


def z3_answers(
    configuration: Configuration, properties: Sequence[Property], seconds: float, jobs: int
) -> dict[str, Z3Answer]:
    """Return the answer of z3 about each property within a time limit.

    Two thirds of it are for the induction, and the rest for bounded checking of what is not inductive.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    from checker.proofs.symbolic.bmc import Bounds, check_in_time

    began = time.perf_counter()
    of_z3 = [p for p in properties if p.of != TERMINAL]
    proved, within = inductive(configuration, of_z3, seconds * 2 / 3, jobs)
    epochs = (configuration.max_epoch or EPOCHS) if Model(configuration).protocol.transactions else 0
    out = {name: Z3Answer(INDUCTIVE, epochs=epochs, within=within) for name in proved}
    out |= {p.name: Z3Answer(UNDECIDED, trouble=TERMINAL_STATES) for p in properties if p not in of_z3}
    rest = [p for p in of_z3 if p.name not in proved]
    if rest:
        left = max(0.001, seconds - (time.perf_counter() - began))
        found = check_in_time(Model(configuration), rest, Bounds(STEPS, seconds=left))
        for p in rest:
            broken = found.rounds if p in found.broken else 0
            said = (found.depth or broken) and not found.left_range  # a run that left its range was not followed
            bounded = Z3Answer(BOUNDED, found.depth, broken=broken, premise=found.premises.get(p.name))
            out[p.name] = bounded if said else Z3Answer(UNDECIDED, trouble=found.second.trouble)
    return {p.name: out[p.name] for p in properties}


def inductive(
    configuration: Configuration, properties: Sequence[Property], seconds: float, jobs: int
) -> tuple[set[str], tuple[str, ...]]:
    """Return the properties that are inductive with the clauses, and the flags whose ranges some step would leave.

    There are no properties if there are no clauses for the protocol. The flags do not include --max-epoch.
    """
    from checker.proofs.symbolic.assumptions import EPOCHS as LAST_EPOCH
    from checker.proofs.symbolic.assumptions import beside, cut, sized
    from checker.proofs.symbolic.pool import Question, run
    from invariants.proofs.argument import argument_of, is_whole

    argument, nothing = argument_of(configuration.protocol), (set[str](), ())
    if argument is None or configuration.literal:
        return nothing
    if is_whole(configuration.protocol) and configuration.quorums:
        return nothing  # the clauses count majorities
    asked = sized(replace(configuration, max_epoch=configuration.max_epoch or EPOCHS))
    if is_whole(configuration.protocol) and (configuration.network != "fifo" or cut(asked) != {LAST_EPOCH}):
        return nothing  # a step that overflows a channel is not queried: if most do, everything is inductive
    names = tuple(c.name for c in (*beside(asked), *argument.clauses))
    targets = tuple(p.name for p in properties if p.name not in names)
    outcome = run(Question(asked, names, targets=targets, seconds=seconds), jobs, seconds)
    verdicts = {v.clause.name: v for v in outcome.verdicts}
    if outcome.second is not None and outcome.second.difference:
        raise NoVerdict(outcome.obstacles[0])
    if outcome.obstacles:
        return nothing  # steps are left out: if most are, everything is inductive
    if not all(verdicts[n].holds for n in names):
        return nothing  # what follows from clauses that are not inductive may not hold
    return {p.name for p in properties if verdicts[p.name].holds}, outcome.within
