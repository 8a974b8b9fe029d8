"""Play random runs on real ZooKeeper servers: where they differ from the model, one of the two is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.reenact import PlayRequest, new_folder
from checker.requests.request import at_least

if TYPE_CHECKING:
    from traces.reenact.campaign import Line
    from traces.reenact.plan import ReenactmentPlan
    from traces.reenact.reenactment import ReenactedRun

STARTS = {"established": "established", "new": ""}  # as the model calls them
FOLDER = "reenact-random"  # where none is named


@dataclass(frozen=True)
class ConformanceRequest(PlayRequest):
    """Random runs on real servers; `release` may name several, with commas between them.

    Attributes:
        runs: their number.
        seed: of the first run; the next ones count up.
        start: where the runs begin: `established`, or `new`, from new servers.
    """

    kind: ClassVar[str] = "conformance"

    runs: int = 1
    seed: int = 1
    start: str = "established"

    def validate(self) -> None:
        super().validate()
        at_least(self, 1, "runs")
        if not self.releases:
            raise RequestError("--random needs --release")
        if self.start not in STARTS:
            raise RequestError(f"random runs begin from {' or '.join(STARTS)}, not from {self.start!r}")

    @property
    def releases(self) -> list[str]:
        """The releases, by name."""
        return [name for name in self.release.split(",") if name]


class Conformance:
    """Follows random runs. This one shows nothing."""

    def resumed(self, done: int, of: int) -> None:
        """Report that `done` of `of` runs were played before."""

    def played(self, line: Line, plan: ReenactmentPlan, run: ReenactedRun) -> None:
        """Report the end of a run."""


def answer(request: ConformanceRequest, watch: Conformance | None = None) -> tuple[list[Line], Path]:
    """Play the runs that the folder does not have yet; return all of them, and the folder.

    Raises:
        RequestError: the folder has other runs, or cannot be made.
        NoVerdict: the servers cannot be run here.
    """
    from traces.reenact.campaign import played
    from traces.reenact.distributions import Cannot
    from traces.reenact.servers import settings_for
    from traces.reenact.starts import check_start

    watch, names = watch or Conformance(), request.releases
    start = STARTS[request.start]
    texts = {n: request.variant_for(n, start) for n in names}
    try:
        places = {n: (replace(request.found(n), settings=settings_for(text)), text) for n, text in texts.items()}
        for real, text in places.values():
            check_start(start, real, text)
    except Cannot as problem:
        raise NoVerdict(str(problem)) from None
    folder = Path(request.output or FOLDER)
    before = known(folder, texts, bool(request.zookeeper or request.jar), start)
    folder = folder.resolve() if before else new_folder(folder)
    todo = [(names[k % len(names)], request.seed + k // len(names)) for k in range(request.runs)]
    lines = [x for x in before if (x.release, x.seed) in todo]
    if lines:
        watch.resumed(len(lines), len(todo))
    have = {(x.release, x.seed) for x in lines}
    left = [(*places[n], seed) for n, seed in todo if (n, seed) not in have]
    try:
        for line, plan, run in played(folder, left, request.retries, request.patience, start):
            lines.append(line)
            watch.played(line, plan, run)
    except Cannot as problem:
        raise NoVerdict(str(problem)) from None
    return lines, folder


def known(folder: Path, texts: Mapping[str, str], own_build: bool, start: str = "established") -> list[Line]:
    """Return the runs that a folder has, to resume them.

    Raises:
        RequestError: they are not runs, or are of other servers or another protocol than the request's.
    """
    from traces.record.lines import NotRead
    from traces.reenact.campaign import played_before, question

    try:
        before = played_before(folder)
    except NotRead as problem:
        raise RequestError(str(problem)) from None
    if before and own_build:
        raise RequestError(f"{folder} has runs, perhaps of another build: give a new folder with --output")
    if any(x.asked != question(texts[x.release], start) for x in before if x.release in texts):
        raise RequestError(f"{folder} has runs of another protocol or version: give a new folder with --output")
    return before
