"""Check free-running ensembles against their release's model: `zabcheck conform`, `zabcheck chaos`.

`docs/how-to/conform-and-chaos.md` describes both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from checker.commands import completing
from checker.commands import shared_options as shared
from checker.commands.common import INPUT_OR_FOLDER, PATH, Subcommand, at_least
from checker.commands.publishing import published
from checker.report.conformed import conformed_result, recorded_result
from checker.report.conformed_logs import logs_conformed_result
from checker.report.progress import StatusLine
from checker.requests.chaos import ChaosRequest
from checker.requests.chaos import answer as run
from checker.requests.conform import Conforming, ConformRequest, answer
from checker.requests.conform_logs import answer_logs

if TYPE_CHECKING:
    from checker.report.result import StatedResult


@click.command(cls=Subcommand)
@click.argument("record", type=INPUT_OR_FOLDER)
@shared.named(
    "--release",
    "NUMBER",
    "The release whose model is searched (default: as the record says).",
    completing.zookeeper_releases,
)
@shared.named("--variant", "NAMES", "Search this variant of the model instead.", completing.zookeeper_variants)
@click.option(
    "--time-limit", type=float, metavar="SECONDS", default=300.0, show_default=True,
    help="Stop after this time; the verdict is then UNKNOWN.",
)  # fmt: skip
@published("conform", "The answer as JSON.")
def conform(record: Any, release: str, variant: str, time_limit: float | None) -> StatedResult:
    """Search for a run of a release's model that explains the record of a free-running ensemble.

    It explains each packet between servers, in order, kills and starts, and the disks at the end. Election votes and
    the servers' logs are ignored.

    If RECORD is a folder, the servers' own logs at INFO (logN.txt) and their data directories (serverN) are explained
    instead; a record in it is not read.

    Exit codes: 0 a run explains the whole record, acknowledged writes are served, and the run violates nothing; 1 no
    run explains the record, an acknowledged write is lost, or the run violates a property; 2 the request is wrong;
    3 unknown: the record has no end, there are too many states, or the time is up.
    """
    request = ConformRequest(str(record), release or "", variant or "", time_limit)
    if record.is_dir():
        return logs_conformed_result(request.as_json(), answer_logs(request))
    with ShownSearch() as shown:
        done = answer(request, shown)
    return conformed_result(request.as_json(), done)


@click.command(cls=Subcommand)
@shared.named(
    "--release",
    "NUMBER",
    "The release whose servers are run, and whose model is searched.",
    completing.zookeeper_releases,
)
@shared.of_servers
@click.option("--seconds", default=60.0, show_default=True, help="How long clients write and faults occur.")
@click.option("--seed", default=1, show_default=True, callback=at_least(0), help="Seed of the faults.")
@click.option(
    "--clients",
    default=3,
    show_default=True,
    callback=at_least(1),
    help="Number of clients; each has one write outstanding at a time.",
)
@click.option(
    "--writes",
    default=1000,
    show_default=True,
    callback=at_least(1),
    help="Largest number of writes, of all clients together.",
)
@click.option(
    "--faults", default="kill,stop,cut,delay,tail,behind,stall", show_default=True, help="Kinds of faults, or `none`."
)
@click.option("--record-only", is_flag=True, help="Record only, without a search.")
@click.option(
    "--output", "-o", type=PATH, help="A new folder for the record and the servers' data (chaos-RELEASE-SEED)."
)
@published("conform", "The answer as JSON.")
def chaos(**words: Any) -> StatedResult:
    """Run three real ZooKeeper servers on loopback, disturb them, and compare their record with the model.

    Clients write, while servers are killed, stopped, isolated and delayed by a seed. Passive proxies record the packets
    between the servers, and the record is compared with the release's model as `conform` does.

    No server's thread is held, and no class of ZooKeeper is changed. A seed determines the faults, not the servers'
    reactions. Exit codes are those of `conform`; with --record-only 0.
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
