"""Play random runs on real ZooKeeper servers: where they differ from the model, one of the two is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from checker.errors import HELD, NO_VERDICT, RequestError
from checker.report.answer import Answered
from checker.report.result import Part, Table
from checker.requests.base.request import Count, Option, function
from checker.requests.base.watch import QUIET, Watch
from checker.zookeeper.requests.reenact import PlayRequest, new_folder

if TYPE_CHECKING:
    from traces.zookeeper.reenact.campaign import Line

STARTS = {"established": "established", "new": ""}  # as the model calls them
FOLDER = "reenact-random"  # where none is named


@dataclass(frozen=True, repr=False)
class RandomRuns(Answered):
    """Random runs, as real servers played them.

    Attributes:
        request: the request.
        lines: the result of each run.
        folder: the files that they left.
        texts: the runs that differ.
    """

    request: ConformanceRequest
    lines: Sequence[Line]
    folder: Path
    texts: Sequence[str]

    kind = "conformance"

    @property
    def whole(self) -> int:
        """The number of runs that agree to their end."""
        return sum(line.whole for line in self.lines)

    @property
    def exit_code(self) -> int:
        return HELD if self.whole == len(self.lines) else NO_VERDICT

    @property
    def sentence(self) -> str:
        idle = sum(bool(line.trouble) for line in self.lines)
        return f"{self.whole} of {len(self.lines)} runs agree to their end; {idle} did not start"

    def parts(self) -> Sequence[Part]:
        from traces.zookeeper.reenact.campaign import kinds_table, release_table

        tables = [Table(rows, head) for head, rows in (kinds_table(self.lines), release_table(self.lines))]
        return [*self.texts, *tables, f"{self.sentence}\nleft in {self.folder}"]

    def details(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "runs": [asdict(line) for line in self.lines]}


@dataclass(frozen=True)
class ConformanceRequest(PlayRequest):
    """Play random runs on real servers; `release` may name several, with commas between them."""

    kind: ClassVar[str] = "conformance"
    mode: ClassVar[str | Option] = "runs"

    runs: Annotated[Count, Option("Play N random runs.", flag="random", shown=False)] = 1
    seed: Annotated[int, Option("Number of the first random run of --random; the others follow.")] = 1
    start: Annotated[
        Literal["established", "new"],
        Option("Where the runs of --random begin: a leader is established, or all servers are new."),
    ] = "established"

    def validate(self) -> None:
        super().validate()
        if not self.releases:
            raise RequestError("--random needs --release")

    @property
    def releases(self) -> list[str]:
        """The releases, by name."""
        return [name for name in self.release.split(",") if name]

    def answer(self, watch: Watch = QUIET) -> RandomRuns:
        from traces.zookeeper.reenact.campaign import played
        from traces.zookeeper.reenact.messages import told_run
        from traces.zookeeper.reenact.servers import settings_for
        from traces.zookeeper.reenact.starts import check_start

        names = self.releases
        texts: list[str] = []
        start = STARTS[self.start]
        sources = {n: self.variant_for(n, start) for n in names}
        places = {n: (replace(self.found(n), settings=settings_for(text)), text) for n, text in sources.items()}
        for real, text in places.values():
            check_start(start, real, text)
        folder = new_folder(Path(self.output or FOLDER))
        todo = [(*places[names[k % len(names)]], self.seed + k // len(names)) for k in range(self.runs)]
        lines: list[Line] = []
        with watch.working() as show:
            for line, plan, run in played(folder, todo, self.retries, self.patience, start):
                lines.append(line)
                if not line.whole or line.harm:
                    texts.append(f"{line.release}, seed {line.seed}: {' '.join(told_run(plan, run))}")
                show(f"{len(lines)} of {self.runs} runs played")
        return RandomRuns(self, lines, folder, texts)


conformance = function(ConformanceRequest)
