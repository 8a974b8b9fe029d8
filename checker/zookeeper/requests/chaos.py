"""Run a real ensemble freely, disturb it by a seed, and record it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from checker.errors import RequestError
from checker.requests.base.request import Count, File, Option, Seconds, function
from checker.requests.base.watch import QUIET, Watch
from checker.zookeeper.requests.conform import Conform
from checker.zookeeper.requests.reenact import new_folder
from checker.zookeeper.requests.servers import ServersRequest
from zabspec.typed import Natural

if TYPE_CHECKING:
    from checker.zookeeper.report.conformed import Conformed


@dataclass(frozen=True)
class ChaosRequest(ServersRequest):
    """Run three real ZooKeeper servers on loopback, disturb them, and compare their record with the model.

    Clients write, while servers are killed, stopped, isolated and delayed by a seed. Passive proxies record the packets
    between the servers, and the record is compared with the release's model as `conform` does.

    No server's thread is held, and no class of ZooKeeper is changed. A seed determines the faults, not the servers'
    reactions. Exit codes are those of `conform`; with --record-only 0.
    """

    kind: ClassVar[str] = "chaos"
    group: ClassVar[str] = "Servers of ZooKeeper"

    seconds: Annotated[Seconds, Option("How long clients write and faults occur.")] = 60.0
    seed: Annotated[Natural, Option("Seed of the faults.")] = 1
    clients: Annotated[Count, Option("Number of clients; each has one write outstanding at a time.")] = 3
    writes: Annotated[Count, Option("Largest number of writes, of all clients together.")] = 1000
    faults: Annotated[str, Option("Kinds of faults, or `none`.")] = "kill,stop,cut,delay,tail,behind,stall"
    record_only: Annotated[bool, Option("Record only, without a search.")] = False
    output: Annotated[
        File,
        Option("A new folder for the record and the servers' data (chaos-RELEASE-SEED).", short="o", place="folder"),
    ] = ""

    def validate(self) -> None:
        from traces.zookeeper.conform.chaos import FAULTS

        super().validate()
        if not self.release:
            raise RequestError("--release NUMBER is missing: the release whose servers are run")
        wrong = [f for f in self.kinds if f not in FAULTS]
        if wrong:
            raise RequestError(f"there is no fault {wrong[0]!r}; there are {', '.join(FAULTS)}, and none")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of faults."""
        return () if self.faults == "none" else tuple(f for f in self.faults.split(",") if f)

    def answer(self, watch: Watch = QUIET) -> Conformed:
        from checker.zookeeper.report.conformed import conformed_result, recorded_result
        from traces.zookeeper.conform.chaos import Chaos, ChaosPlan

        real = self.found(self.release)
        folder = new_folder(Path(self.output or f"chaos-{self.release}-{self.seed}"))
        plan = ChaosPlan(self.seconds, self.seed, self.clients, self.writes, self.kinds)
        ensemble = Chaos(folder, real, plan)
        with watch.working() as show:
            try:
                ensemble.run(show)
            finally:
                ensemble.end()
        if self.record_only:
            return recorded_result(self.as_json(), folder)
        done = Conform(record=str(ensemble.record), release=self.release).explained(watch)
        return conformed_result(self.as_json(), done, folder)


chaos = function(ChaosRequest)
