"""Hold a forecast against the second semantics: the runs of its outcomes, and random ones, from the same disks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from checker.explore.interpret import Interpreter
from checker.opinion.outcome import FILE, NO_OPINION, SecondOpinion, written_to
from checker.opinion.searched import opinion_of_runs
from traces.zookeeper.audit.forecast import Forecast


def opinion_of(ahead: Forecast) -> SecondOpinion:
    """Return how the second semantics' opinion compares; a difference is written to a file."""
    if ahead.folded is None:
        return NO_OPINION if ahead.unknown else SecondOpinion(none="no run of the model was needed")
    model, begin = ahead.folded.model, ahead.folded.state.key()
    engine = Interpreter(model, (), symmetry=False, every_step=True)
    found = opinion_of_runs(model, engine, (), [o.steps for o in ahead.outcomes], begin)
    return written_to(found, Path(FILE)) if found.difference else found


def without_verdict(ahead: Forecast, second: SecondOpinion) -> Forecast:
    """Return a forecast that says nothing, if the opinions differ."""
    return replace(ahead, unknown=second.trouble, outcomes=[], last_copies=[]) if second.difference else ahead
