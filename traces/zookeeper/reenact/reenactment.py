"""Play a trace on real servers, from the first process started to the last ended."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from traces.zookeeper.reenact.aftermath import Aftermath, aftermath
from traces.zookeeper.reenact.beginning import BEGIN
from traces.zookeeper.reenact.distributions import Cannot, Release
from traces.zookeeper.reenact.ending import at_the_end
from traces.zookeeper.reenact.ensemble import Ensemble
from traces.zookeeper.reenact.periodic import settings_of_each
from traces.zookeeper.reenact.plan import ReenactmentPlan
from traces.zookeeper.reenact.player import Played, Player
from traces.zookeeper.reenact.servers import CannotRun
from traces.zookeeper.reenact.starts import STARTS, check_start


@dataclass
class ReenactedRun:
    """The result of re-enacting a trace once.

    Attributes:
        trouble: why the servers did not come to where the trace begins, so that it was not tried; empty if they did.
        harm: what is broken on the real servers.
    """

    played: Played
    after: Aftermath | None
    harm: list[str] = field(default_factory=list)
    trouble: str = ""
    seconds: float = 0.0

    @property
    def agreed(self) -> bool:
        """Return whether every step was forced, seen, and as the model has it."""
        return not self.trouble and not self.played.differs


def play(folder: Path, release: Release, plan: ReenactmentPlan, patience: float = 20.0) -> ReenactedRun:
    """Play a plan once.

    Args:
        folder: it leaves there what happened, the servers' logs and their data.

    Raises:
        CannotRun: the servers end at their start, or their logs cannot be read.
    """
    began = time.monotonic()
    start = STARTS[plan.configuration.start]
    check_start(plan.configuration.start, release, plan.configuration.variant)
    ensemble = Ensemble(folder, release, plan.ids, (plan.ids[p] for p in plan.observers), start.lines)
    each = settings_of_each(plan.configuration.variant, release.settings, plan.steps, len(plan.ids))
    for n, settings in zip(plan.ids, each, strict=True):
        ensemble.servers[n].release = replace(release, settings=settings)
    player = Player(ensemble, plan, patience)
    after, harm, trouble = None, [], ""
    try:
        try:
            BEGIN[plan.configuration.start](player)
        except CannotRun:
            raise
        except Cannot as problem:
            trouble = str(problem)
        else:
            player.play()
            if not player.played.differs:
                harm = at_the_end(player, plan) if plan.steps else []
                after = aftermath(ensemble, player.played)
                harm += after.harm
    finally:
        ensemble.end()
    run = ReenactedRun(player.played, after, harm, trouble, time.monotonic() - began)
    (folder / "result.json").write_text(json.dumps(as_dict(plan, run), indent=1) + "\n")
    return run


def as_dict(plan: ReenactmentPlan, run: ReenactedRun) -> dict[str, object]:
    return {
        "ids": plan.ids, "steps": len(plan.steps), "agreed": run.played.steps, "differs": run.played.differs,
        "problem": run.trouble, "harm": run.harm, "model_breaks": plan.broken, "skipped": plan.skipped,
        "inserted": plan.inserted, "seconds": round(run.seconds, 2),
        "step_seconds": [round(s, 3) for s in run.played.seconds],
        "writes": [{"path": w.path, "acknowledged_at": w.answered} for w in run.played.writes],
        "exits": [asdict(x) for x in run.played.exits],
        "trees": {} if run.after is None else {str(n): t for n, t in run.after.trees.items()},
    }  # fmt: skip


def tried(
    folder: Path, release: Release, plan: ReenactmentPlan, retries: int, patience: float, say: Callable[[str], None]
) -> tuple[ReenactedRun, int]:
    """Play a plan until every step agrees, or the retries are used up; return the last run and the number of runs."""
    for again in range(retries + 1):
        run = play(folder / f"try{again + 1}", release, plan, patience)
        if run.agreed or again == retries:
            break
        say(f"try {again + 1}: {run.trouble or run.played.differs[0]}")
    return run, again + 1
