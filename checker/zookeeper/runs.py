"""Read the runs of the track record that are played on real servers (`runs.toml`, docs/how-to/reenact.md)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

from traces import Trace, build_trace
from traces.record.trace import StepWord
from zabspec.model import Configuration, Model
from zabspec.quorums import quorums_with


@dataclass(frozen=True)
class Recorded:
    """A run.

    Attributes:
        release: the one whose model has it, and whose servers showed it.
        words: its steps.
        crashes, losses, partitions, elections, proposals, write_errors: the amounts that it needs.
        settings: further variants of settings.
        snapshots: the amount of periodic snapshots.
        start: where it begins; empty for the initial state, of new servers.
    """

    release: str
    words: str
    crashes: int = 0
    losses: int = 0
    partitions: int = 0
    elections: int = 0
    proposals: int = 0
    write_errors: int = 0
    settings: str = ""
    snapshots: int = 0
    start: str = "established"


READ = tomllib.loads(files("checker.zookeeper").joinpath("runs.toml").read_text(encoding="utf-8"))
RUNS = {issue: Recorded(**READ["runs"][run.get("run_of", issue)]) for issue, run in READ["runs"].items()}


def configuration_of_row(issue: str) -> Configuration:
    """Return the configuration of a row's run."""
    from zabspec.zookeeper.of_releases import settled, variant_of

    r = RUNS[issue]
    budgets = f"elections={r.elections},proposals={r.proposals},write_errors={r.write_errors},snapshots={r.snapshots}"
    return Configuration(
        "zookeeper",
        settled(variant_of("zookeeper", r.release), r.release, r.settings),
        start=r.start,
        timeouts=0,
        crashes=r.crashes,
        losses=r.losses,
        partitions=r.partitions,
        budgets=budgets,
        quorums=quorums_with(r.settings),
    )


def trace_of_row(issue: str) -> Trace:
    """Return the run of a row, as a trace.

    Raises:
        TraceError: the model no longer has it.
    """
    model = Model(configuration_of_row(issue))
    return build_trace(model, None, [renumbered(int(word, 16), model) for word in RUNS[issue].words.split()])


def renumbered(word: int, model: Model) -> int:
    """Return a step word with the number that its action has in a model."""
    parts = StepWord.of(word)
    if parts.kind != "action":
        return word
    which = list(model.program.actions).index(READ["actions"][parts.operands["which"]])
    return StepWord(parts.kind, {**parts.operands, "which": which}, parts.choice).word
