"""Check free-running ensembles against their release's model: `zabcheck conform`, `zabcheck chaos`.

`docs/how-to/conform-and-chaos.md` describes both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import INPUT, PATH, Subcommand, at_least
from checker.commands.publishing import published
from checker.report.conformed import conformed_result, recorded_result
from checker.report.progress import StatusLine
from checker.requests.chaos import ChaosRequest
from checker.requests.chaos import answer as run
from checker.requests.conform import Conforming, ConformRequest, answer

if TYPE_CHECKING:
    from checker.report.result import StatedResult

__all__ = ["chaos", "conform"]


@click.command(cls=Subcommand)
@click.argument("record", type=INPUT)
@shared.named("--release", "NUMBER", "Whose text (what the record says).", completing.zookeeper_releases)
@shared.named("--variant", "NAMES", "Another variant of the text in its place.", completing.zookeeper_variants)
@click.option(
    "--time-limit", type=float, metavar="SECONDS", default=300.0, show_default=True,
    help="Give up after that; the verdict is then UNKNOWN.",
)  # fmt: skip
@published("conform", "The answer as JSON.")
def conform(record: Any, release: str, variant: str, time_limit: float | None) -> StatedResult:
    """Search for a run of a release's model that explains the record of a free-running ensemble.

    It must explain each packet between servers, in order, kills and starts, and the disks in the end. Election votes
    and
    the servers' logs are not checked.

    0: a run explains all of it, what clients were told is served, and the run violates nothing; 1: nothing explains the
    record, or a promise was broken; 3: not known (a record without its end, too many states, no time left).
    """
    request = ConformRequest(str(record), release or "", variant or "", time_limit)
    with ShownSearch() as shown:
        done = answer(request, shown)
    return conformed_result(request.as_json(), done)


@click.command(cls=Subcommand)
@shared.named("--release", "NUMBER", "Whose servers, and whose text.", completing.zookeeper_releases)
@shared.named("--zookeeper", "DIR", "Servers of a build of your own, held against --release.")
@shared.named("--jar", "FILE", "A server's jar in place of the release's: a patched build.")
@click.option("--seconds", default=60.0, show_default=True, help="How long clients write and faults happen.")
@click.option("--seed", default=1, show_default=True, callback=at_least(0), help="Of the faults.")
@click.option("--clients", default=3, show_default=True, callback=at_least(1), help="That write, one at a time each.")
@click.option("--writes", default=1000, show_default=True, callback=at_least(1), help="At most so many, by all.")
@click.option(
    "--faults", default="kill,stop,cut,delay,tail,behind,stall", show_default=True, help="Kinds of faults, or none."
)
@click.option("--record-only", is_flag=True, help="Record, and do not search.")
@click.option("--output", "-o", type=PATH, help="A new folder (chaos-RELEASE-SEED).")
@published("conform", "The answer as JSON.")
def chaos(**words: Any) -> StatedResult:
    """Run three real ZooKeeper servers on loopback, disturb them, and check their record as `conform` does.

    Clients write; a seed decides when servers are killed, stopped, cut off and delayed; passive proxies record the
    packets between them.

    The order of packets is not chosen, and no class of ZooKeeper is changed. A seed fixes the faults, not how servers
    react. Exit codes are those of `conform`; with --record-only 0.
    """
    words = {name: ("" if value is None else value) for name, value in words.items()}
    words["output"] = str(words["output"])
    request = ChaosRequest(**words)
    with ShownSearch() as shown:
        folder, done = run(request, shown.update, shown)
    if done is None:
        return recorded_result(request.as_json(), folder)
    return conformed_result(request.as_json(), done, folder)


class ShownSearch(StatusLine, Conforming):
    """Shows the progress of the search on stderr."""

    def explained(self, count: int, of: int) -> None:
        if not count % 50:
            self.update(f"{count:,} of {of:,} observations are explained")
