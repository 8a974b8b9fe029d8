"""Play many random runs, one line of a file each, and summarise them by release.

The summary counts the runs that agree, and the steps forced and seen.
"""

from __future__ import annotations

import json
import resource
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from traces.zookeeper.reenact.distributions import Release
from traces.zookeeper.reenact.plan import ESTABLISHED, ReenactmentPlan
from traces.zookeeper.reenact.random_schedules import drawn, kind
from traces.zookeeper.reenact.reenactment import ReenactedRun
from traces.zookeeper.reenact.reenactment import tried as play_until_agreed

FILE = "runs.jsonl"


@dataclass(frozen=True)
class Line:
    """The result of one run of a campaign.

    Attributes:
        drawn, agreed: the number of its steps, and of those that were forced, seen, and agree with the model.
        at: the kind of the step at which server and model differ; empty if they agree.
        trouble: why the servers did not come to where the run begins.
        kinds: the number of steps of each kind that agreed.
        breaks, harm: what is broken in the model, and on the servers.
        seconds, cpu: how long it took, and CPU seconds of the servers.
    """

    release: str
    seed: int
    drawn: int
    agreed: int
    at: str
    differs: list[str]
    trouble: str
    kinds: dict[str, int]
    breaks: list[str]
    harm: list[str]
    seconds: float
    cpu: float

    @property
    def whole(self) -> bool:
        return not self.trouble and not self.differs


def line_of(release: str, seed: int, plan: ReenactmentPlan, run: ReenactedRun, cpu: float) -> Line:
    done = plan.steps[: run.played.steps]
    return Line(
        release, seed, len(plan.steps), len(done), kind(plan.steps[len(done)]) if run.played.differs else "",
        run.played.differs, run.trouble, dict(Counter(map(kind, done))), list(plan.broken), run.harm,
        round(run.seconds, 2), round(cpu, 2),
    )  # fmt: skip


def played(
    folder: Path, asked: Iterable[tuple[Release, str, int]], retries: int, patience: float, start: str = ESTABLISHED
) -> Iterator[tuple[Line, ReenactmentPlan, ReenactedRun]]:
    """Play runs, and write a line of each; nothing else is kept of one that agrees.

    Args:
        asked: the servers, the variant of the protocol for their release, and the seed.
        start: where the runs begin, one that can be played (`starts.py`).
    """
    for real, variant, seed in asked:
        plan, place = drawn(variant, seed, real.batches, start), folder / f"{real.name}-seed{seed}"
        shutil.rmtree(place, ignore_errors=True)  # of a run that was ended in its middle
        before = children()
        run, _ = play_until_agreed(place, real, plan, retries, patience, lambda _: None)
        line = line_of(real.name, seed, plan, run, children() - before)
        with (folder / FILE).open("a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(line)) + "\n")
        if line.whole and not line.harm:
            shutil.rmtree(place, ignore_errors=True)
        yield line, plan, run


def children() -> float:
    """Return the CPU seconds of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def releases(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(x.release for x in lines))


def release_table(lines: Sequence[Line]) -> Table:
    """Return the table of runs and steps that agree, by release."""
    rows: list[tuple[str, ...]] = []
    for name in [*releases(lines), "all"]:
        mine = [x for x in lines if name in (x.release, "all")]
        steps, agreed = sum(x.drawn for x in mine), sum(x.agreed for x in mine)
        tried = agreed + sum(bool(x.at) for x in mine)
        rows.append((
            name, str(len(mine)), str(sum(x.whole for x in mine)), str(steps), str(tried), str(agreed),
            f"{100 * agreed / tried:.1f}" if tried else "", f"{100 * agreed / steps:.1f}" if steps else "",
        ))  # fmt: skip
    return ("release", "runs", "whole", "drawn", "played", "agreed", "% of played", "% of drawn"), rows


def kinds_table(lines: Sequence[Line]) -> Table:
    """Return the table of agreeing steps by kind, and of the kinds at which runs differed."""
    agreed: Counter[str] = Counter()
    differed = Counter(x.at for x in lines if x.at)
    for x in lines:
        agreed.update(x.kinds)
    names = sorted({*agreed, *differed})
    return ("step", "agreed", "differed"), [(n, str(agreed[n]), str(differed[n] or "")) for n in names]
