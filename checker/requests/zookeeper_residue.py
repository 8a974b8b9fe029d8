"""Find out what a release of ZooKeeper with all known repairs still violates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.requests.request import Option, Request, function
from checker.requests.watch import QUIET, Watch
from checker.requests.zookeeper import RowLimit

if TYPE_CHECKING:
    from checker.report.answer import StatedAnswer


@dataclass(frozen=True)
class ZookeeperResidueRequest(Request):
    """Report the remaining faults of a release with all known repairs."""

    kind: ClassVar[str] = "zookeeper-residue"
    mode: ClassVar[str | Option] = Option("Check which faults remain with all known repairs instead.", flag="residue")

    release: Annotated[
        str, Option("The release to check (the newest).", metavar="NUMBER", complete="zookeeper_releases")
    ] = ""
    time_limit: RowLimit = None

    def variant(self) -> str:
        """Return the variant that models the release.

        Raises:
            RequestError: there is no such release.
        """
        from checker.zookeeper.record import NEWEST
        from checker.zookeeper.releases import variant_of

        return (variant_of("zookeeper", self.release) if self.release else "") or NEWEST

    def answer(self, watch: Watch = QUIET) -> StatedAnswer:
        from checker.report.answer import StatedAnswer
        from checker.report.result import Table, installed_version
        from checker.report.track_record import merged_by_promise
        from checker.zookeeper.residue import LINES, ask, repairs_of

        release, found = self.variant(), []
        for line in LINES:
            with watch.exploring() as progress:
                one = ask(line, release, self.time_limit, progress)
            found.append(one)
            watch.note(f"{line.words}, {line.budget}: {one.says} ({one.states:,} states, {one.seconds:.1f} s)")
        changed = [one for one in found if not one.as_recorded and not one.trouble]
        undecided = [one for one in found if one.trouble]
        code = VIOLATED if changed else NO_VERDICT if undecided else HELD
        content = {
            "zabcheck": installed_version(), "request": self.as_json(), "release": release,
            "merged_by_promise": merged_by_promise(),
            "lines": [
                {
                    "repairs": repairs_of(x.line, release),
                    "budget": dict(zip(("elections", "proposals", "crashes", "losses"), x.line.budget, strict=True)),
                    "breaks": x.breaks, "depth": x.depth, "states": x.states, "premises_not_reached": x.unreached,
                    "cpu_seconds": round(x.seconds, 1), "problem": x.trouble, "as_recorded": x.as_recorded,
                }
                for x in found
            ],
            "exit_code": code,
        }  # fmt: skip
        rows = [
            (
                x.line.words, ", ".join(map(str, x.line.budget)), f"{x.states:,}", f"{x.seconds:.1f}", x.says,
                "as recorded" if x.as_recorded else "no verdict" if x.trouble else "CHANGED",
            )
            for x in found
        ]  # fmt: skip
        head = ("repairs", "elections, proposals, crashes, losses", "states", "CPU s", "result", "line")
        sentence = f"all: {', '.join(repairs_of(LINES[0], release))}; {len(changed) or 'none'} changed"
        text = [Table(rows, head, below=f"{sentence}\n{merged_by_promise()}")]
        return StatedAnswer(sentence, code, content, text, kind=self.kind)


zookeeper_residue = function(ZookeeperResidueRequest)
