"""Second opinions of judged runs: some of them, or their first rows, judged by the definitions of the papers.

The definitions (`zabspec/second/definitions.py`) look at every pair of events, and complete what a row leaves unknown
in every way; they share no line with the kernel, and read the rows as pyarrow gives them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.opinion.outcome import BY_DEFINITIONS, FILE, NO_OPINION, RUNS, Differs, SecondOpinion, written_to
from zabspec.second.definitions import DEFINITIONS, READ, Row, judged_by_definition

if TYPE_CHECKING:
    import pyarrow as pa

    from traces.judging.totals import Totals, Unit

ROWS = 40  # of a run of a table, the first that the definitions read: they take time by the cube of their number
ALONE = 100_000  # rows of a run that is judged by itself once more
WAYS = 64  # to complete what the rows leave unknown; with more they are not compared
UNITS = 4  # of a table from which as many are drawn, if there are so many
LEFT_OPEN = ("open", "undecided", "not judged")  # verdicts that say nothing of a property
SECONDS = 0.5  # of CPU, after which no further run is drawn


@dataclass(frozen=True)
class Drawn:
    """A run to compare: its number, its rows, the verdict on each property, and whether these are all its rows."""

    run: int
    rows: list[Row]
    said: Mapping[str, str]
    whole: bool = True


Draw = Callable[[random.Random, int], Iterator[Drawn]]  # runs, by a source of random numbers, of which so many are used


@dataclass
class Compared:
    """What was compared so far, of the properties of some names."""

    names: Sequence[str]
    runs: int = 0
    rows: int = 0
    judged: set[str] = field(default_factory=set)

    def compare(self, drawn: Drawn) -> None:
        """Compare the verdicts on a run, unless it leaves too much unknown, or all verdicts open.

        Raises:
            Differs: one is not what the definitions say.
        """
        asked = {name: DEFINITIONS[name] for name in drawn.said if name in DEFINITIONS}
        answers = judged_by_definition(drawn.rows, WAYS, asked)
        if answers is None or all(drawn.said[name] in LEFT_OPEN for name in answers):
            return
        self.runs, self.rows = self.runs + 1, self.rows + len(drawn.rows)
        for name, words in answers.items():
            said = drawn.said[name]
            if contradicts(said, words):
                part = "" if drawn.whole else f"{len(drawn.rows)} rows of "
                sentence = f"{name} in {part}run {drawn.run}: {said}, and by definition {listed(words)}"
                raise Differs(sentence, run=drawn.run, rows=drawn.rows, said=said, by_definition=sorted(words))
            self.judged |= set() if said in LEFT_OPEN else {name}


def listed(words: set[str]) -> str:
    return " or ".join(sorted(words)) or "nothing"


def contradicts(said: str, words: set[str]) -> bool:
    """Return whether a verdict differs from that on some completion of the rows; an open one contradicts nothing."""
    if said in LEFT_OPEN:
        return False
    if said == "premise not reached":
        return "violated" in words or words == {"holds"}
    return words != {said}


def opinion_of_runs(draw: Draw, names: Sequence[str], count: int | None) -> SecondOpinion:
    """Compare the verdicts on runs with the definitions; write a difference to a file.

    Args:
        draw: yields the runs.
        names: the properties that were judged.
        count: so many runs, which is the seed, too; None for the usual number, 0 for none.
    """
    if count == 0:
        return NO_OPINION
    began, wanted = time.process_time(), RUNS if count is None else count
    here, details, none = Compared(names), dict[str, Any](), ""
    try:
        for drawn in draw(random.Random(wanted), wanted):
            here.compare(drawn)
            if here.runs >= wanted or (count is None and time.process_time() - began > SECONDS):
                break
    except Differs as problem:
        details = {"difference": str(problem), **problem.details}
    except Exception as problem:  # the verdicts stand
        none = f"the definitions do not judge it: {type(problem).__name__}: {problem}"
    if not (here.runs or details or none):
        none = "every run that was drawn leaves too much unknown, or no definition judges it"
    out = SecondOpinion(
        BY_DEFINITIONS, here.runs, steps=here.rows, judged=tuple(n for n in names if n in here.judged),
        not_judged=tuple(n for n in names if n not in here.judged), seed=wanted,
        difference=details.get("difference", ""), none=none, seconds=round(time.process_time() - began, 3),
        details=details,
    )  # fmt: skip
    return written_to(out, Path(FILE)) if details else out


# --- runs of a table -----------------------------------------------------------------------------------


def drawn_of_table(units: Sequence[Unit], tally: Totals, names: Sequence[str]) -> Draw:
    """Return what draws runs of a table, those in which something is violated first.

    A run is judged by itself once more, and must violate what it violates among the others. The definitions judge its
    first rows of the kinds that they read.

    Args:
        units: what was judged.
        tally: the verdicts.
        names: the properties that were judged.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    violated: dict[int, set[str]] = {}
    for v in tally.violations:
        violated.setdefault(v.run, set()).add(v.property)

    def draw(source: random.Random, wanted: int) -> Iterator[Drawn]:
        first = set(source.sample(sorted(violated), min(len(violated), max(1, wanted // 2))))
        many = 1 + wanted // min(UNITS, len(units))
        for unit in source.sample(units, len(units)):
            for run, table in runs_of(unit, first, many, source):
                read = table.filter(pc.is_in(table.column("kind").cast("string"), pa.array(READ))).slice(0, ROWS)
                if len(table) <= ALONE:
                    words = words_alone(table, unit.observes, names)
                    alone = {name for name, word in words.items() if word == "violated"}
                    if alone != (among := violated.get(run, set())):
                        sentence = f"run {run} alone violates {listed(alone)}, and among the others {listed(among)}"
                        raise Differs(sentence, run=run, rows=read.to_pylist())
                if len(read):
                    said = words_alone(read, unit.observes, names)
                    yield Drawn(run, read.to_pylist(), said, len(read) == len(table))

    return draw


def runs_of(unit: Unit, first: set[int], many: int, source: random.Random) -> Iterator[tuple[int, pa.Table]]:
    """Yield runs of a unit, at most so many, some first: their numbers and rows."""
    import numpy as np

    from traces.judging.runs import COLUMNS

    table = unit.read((*COLUMNS, "detail"))
    run = table.column("run").to_numpy()
    starts = np.flatnonzero(np.append(True, run[1:] != run[:-1])).tolist()
    lengths = np.diff([*starts, len(run)]).tolist()
    order = source.sample(range(len(starts)), len(starts))
    for k in sorted(order, key=lambda k: int(run[starts[k]]) not in first)[:many]:
        yield int(run[starts[k]]), table.slice(starts[k], lengths[k])


def words_alone(table: pa.Table, observes: tuple[str, ...], names: Sequence[str]) -> dict[str, str]:
    """Return the verdicts of the judge of tables on the rows of a run by themselves.

    Raises:
        TableError: they cannot be judged.
    """
    from traces.judging.single_run import InMemory
    from traces.judging.totals import COUNTS, ROW, asked_for, judge_each

    words = judge_each(InMemory((), rows_of=table, noted=observes), asked_for(names)).words[:, 0]
    return {name: COUNTS[words[ROW[name]]] for name in names}
