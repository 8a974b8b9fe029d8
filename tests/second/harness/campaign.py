"""Many protocols, one line each: resumable, on several processes, with a summary and what was covered."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from tests.second.generator.coverage import table
from tests.second.generator.favoured import drawn
from tests.second.harness.book import Reference
from tests.second.harness.checking import Outcome, check

SHARE = 100  # of protocols in which every construct is wanted: one in so many
EACH = 40  # protocols that one process takes: what it has loaded of them stays loaded


def ran(seeds: Iterable[int], engines: Collection[str], jobs: int, favour: Sequence[str] = ()) -> Iterator[Outcome]:
    """Check the protocols of some seeds.

    Args:
        engines: that are held against the reference.
        jobs: processes; 1: this one.
        favour: kinds of steps (`drawn`).
    """
    if jobs == 1:
        yield from checked(seeds, engines, favour)
        return
    parts = chunks(seeds)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        running = {pool.submit(checked_all, part, tuple(engines), favour) for part in islice(parts, 2 * jobs)}
        while running:
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                yield from future.result()
            more = islice(parts, len(ended))
            running |= {pool.submit(checked_all, part, tuple(engines), favour) for part in more}


def chunks(seeds: Iterable[int]) -> Iterator[list[int]]:
    source = iter(seeds)
    while part := list(islice(source, EACH)):
        yield part


def checked_all(seeds: Sequence[int], engines: Collection[str], favour: Sequence[str]) -> list[Outcome]:
    """What a process does."""
    return list(checked(seeds, engines, favour))


def checked(seeds: Iterable[int], engines: Collection[str], favour: Sequence[str]) -> Iterator[Outcome]:
    with Reference() as reference, tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            try:
                yield check(drawn(seed, favour), Path(folder), engines, reference)
            except Exception as problem:  # of whatever engine: it is one line of the campaign
                yield Outcome(seed, "failed", f"{type(problem).__name__}: {problem}")


# --- the file of results ------------------------------------------------------------------------------


def done_before(results: Path) -> list[Outcome]:
    """What is in a file of results; a last line that is cut off does not count."""
    if not results.is_file():
        return []
    found = []
    for line in results.read_text().splitlines():
        try:
            found.append(Outcome(**json.loads(line)))
        except ValueError:
            continue
    return found


def write(results: Path, outcome: Outcome) -> None:
    """Append what became of one protocol, in one write."""
    with results.open("a") as file:
        file.write(json.dumps(outcome.json()) + "\n")
        file.flush()
        os.fsync(file.fileno())


# --- what it came to ----------------------------------------------------------------------------------


def covered(outcomes: Iterable[Outcome]) -> Counter[str]:
    """How many protocols have each construct, and take each kind of step."""
    counted: Counter[str] = Counter()
    for o in outcomes:
        counted.update(o.has)
    return counted


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """What all came to."""
    states = [o.states for o in outcomes if o.states]
    asked = [o for o in outcomes if o.states]
    broken = sum(bool(o.violated) for o in asked)
    by_status = Counter(o.status for o in outcomes)
    compared = Counter(name for o in outcomes for name in o.compared)
    differ = Counter(f"{name}: {lines[0]}" for o in outcomes for name, lines in o.differences.items())
    lines = [
        f"{len(outcomes)} protocols: {', '.join(f'{n} {status}' for status, n in by_status.most_common())}",
        f"compared: {', '.join(f'{name} {n}' for name, n in compared.most_common())}",
    ]
    if states:
        verdicts = sum(len(o.violated) for o in asked), sum(o.properties for o in asked)
        lines += [
            f"states: median {median(states):g}, largest {max(states)}, {sum(states)} in all; "
            f"{sum(o.edges for o in asked)} transitions",
            f"violated: something in {broken} of {len(asked)} ({100 * broken / len(asked):.0f} %), "
            f"{verdicts[0]} of {verdicts[1]} properties ({100 * verdicts[0] / max(1, verdicts[1]):.0f} %)",
            f"with a runtime error: {sum(bool(o.errors) for o in asked)}; "
            f"cut at a depth: {sum(not o.complete for o in asked)}",
        ]
    lines += [f"refused: {o.line()}" for o in outcomes if o.status == "refused"]
    lines += [f"undecided: {o.seed}: {name}: {why}" for o in outcomes for name, why in o.undecided.items()]
    lines += [f"differs {n} times: {what}" for what, n in differ.most_common()]
    seconds: Counter[str] = Counter()
    for o in outcomes:
        seconds.update(o.seconds)
    lines.append("seconds: " + ", ".join(f"{name} {n:.0f}" for name, n in seconds.most_common()))
    return lines


def coverage_lines(outcomes: Sequence[Outcome], added: Sequence[Sequence[Outcome]] = ()) -> list[str]:
    """The table of what was covered.

    Args:
        added: outcomes of other campaigns, whose coverage counts too; as many are wanted as of the largest alone.
    """
    parts = [outcomes, *added]
    counted = sum((covered(part) for part in parts), Counter())
    return table(counted, sum(map(len, parts)), max(1, max(map(len, parts)) // SHARE))


def campaign(
    first: int, count: int, engines: Collection[str], jobs: int, results: Path | None, until_different: bool = False,
    having: str = "", favour: Sequence[str] = (),
) -> list[Outcome]:  # fmt: skip
    """Check protocols, those apart that a file of results has already; prints a line for each.

    Args:
        having: a regular expression; a protocol is checked only if its source, with the request behind it, matches.
        favour: kinds of steps (`drawn`).
    """
    before = done_before(results) if results is not None else []
    known = {o.seed for o in before if 0 <= o.seed - first < count}
    outcomes = [o for o in before if o.seed in known]
    seeds = (s for s in range(first, first + count) if s not in known and (not having or has(s, having, favour)))
    for outcome in ran(seeds, engines, jobs, favour):
        if results is not None:
            write(results, outcome)
        outcomes.append(outcome)
        print(outcome.line(), flush=True)
        for lines in outcome.differences.values():
            print(*(f"    {line}" for line in lines[:24]), sep="\n", flush=True)
        if until_different and outcome.status in ("differs", "failed"):
            break
    return outcomes


def has(seed: int, having: str, favour: Sequence[str] = ()) -> bool:
    """Return whether the source of a protocol, with the request behind it, matches a regular expression."""
    made = drawn(seed, favour)
    text = f"{made.text}{json.dumps(made.request)}{json.dumps(dict(made.features))}"
    return re.search(having, text, re.DOTALL) is not None
