"""Play a trace of protocol zookeeper on real ZooKeeper servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from checker.errors import HELD, NO_VERDICT, VIOLATED, NoVerdict, RequestError
from checker.report.answer import TraceAnswer
from checker.report.result import Part
from checker.requests.base.carried import verified_trace
from checker.requests.base.quorum_system import release_option
from checker.requests.base.request import Count, File, Option, Seconds, function
from checker.requests.base.watch import QUIET, Watch
from checker.zookeeper.requests.servers import ServersRequest
from zabspec.typed import Natural

if TYPE_CHECKING:
    from traces import Trace
    from traces.zookeeper.reenact.plan import ReenactmentPlan
    from traces.zookeeper.reenact.reenactment import ReenactedRun
    from zabspec.model import Configuration


@dataclass(frozen=True)
class PlayRequest(ServersRequest):
    """The servers to play runs on, and what they are compared with."""

    release: Annotated[
        str, release_option("The release whose servers are run, and its model; --random takes several, with commas.")
    ] = ""
    variant: Annotated[
        str,
        Option(
            "Compare the servers with the release's model in this variant.",
            metavar="NAMES",
            complete="zookeeper/variants",
        ),
    ] = ""
    retries: Annotated[Natural, Option("Retry up to this many times if a step is not observed.")] = 2
    patience: Annotated[Seconds, Option("How long to wait for the effect of a step.")] = 20.0
    output: Annotated[
        File, Option("A new folder for logs and data (default: one beside the trace).", short="o", place="folder")
    ] = ""

    def variant_for(self, release: str, start: str = "established") -> str:
        """Return the variant that the servers of a release are compared with: the release's, with what is asked.

        Where a release's model is asked by its name, it takes the place of the servers' own.

        Args:
            start: where the run begins; empty for the initial state.
        """
        from zabspec.protocols.registry import PROTOCOLS
        from zabspec.zookeeper.of_releases import names_of, of_servers, variant_of, with_settings

        protocol = PROTOCOLS["zookeeper"]
        other = {*names_of(self.variant)} & {name for name in protocol.declared.releases if name}
        variant = with_settings(protocol, self.variant, "" if other else release) or variant_of("zookeeper", release)
        return of_servers(variant, release, start)


@dataclass(frozen=True, repr=False)
class Reenacted(TraceAnswer):
    """A trace, as real servers re-enacted it.

    Attributes:
        request: the request.
        trace: the trace.
        folder: the files that every run left.
        played: the last try of each time.
        texts: what happened, in order.
    """

    request: ReenactRequest
    trace: Trace
    plan: ReenactmentPlan
    folder: Path
    played: Sequence[ReenactedRun]
    texts: Sequence[str]

    kind = "reenact"

    @property
    def agreed(self) -> int:
        """The number of times that every step agreed with the model."""
        return sum(r.agreed for r in self.played)

    @property
    def broken(self) -> int:
        """The number of times that every step agreed, and the servers broke what they promise."""
        return sum(r.agreed and bool(r.harm) for r in self.played)

    @property
    def exit_code(self) -> int:
        return VIOLATED if self.broken else HELD if self.agreed == self.request.times else NO_VERDICT

    @property
    def sentence(self) -> str:
        from traces.zookeeper.reenact.rates import told_rate

        times = self.request.times
        return f"all steps agree: {told_rate(self.agreed, times)}; violated on the servers: " + told_rate(
            self.broken, times
        )

    def parts(self) -> Sequence[Part]:
        from traces.zookeeper.reenact.messages import told_run

        last = [self.sentence] if self.request.times > 1 else told_run(self.plan, self.played[-1])
        return ["\n".join([*self.texts, *last, f"left in {self.folder}"])]

    def details(self) -> dict[str, Any]:
        return {"agreed": self.agreed, "broken": self.broken, "folder": str(self.folder)}


@dataclass(frozen=True)
class ReenactRequest(PlayRequest):
    """Play a run on a real ZooKeeper ensemble, packet by packet, and compare the servers with the model.

    The run is a trace, or that of a row of the track record.

    Exit codes: 0 every step agrees with the model, and no property is violated; 1 every step agrees, and the servers
    violate a property; 2 the request is wrong; 3 a step differs from the model, could not be forced, or the servers
    cannot be run here.
    """

    kind: ClassVar[str] = "reenact"
    group: ClassVar[str] = "Servers of ZooKeeper"
    others: ClassVar[tuple[str, ...]] = ("conformance", "servers")

    trace: Annotated[File, Option(place="read", argument=True, metavar="TRACE|ZK-NNNN", complete="zookeeper/rows")] = ""
    times: Annotated[Count, Option("Play the run this many times, and report a rate.")] = 1
    control: Annotated[bool, Option("Play the run without its decisive step: the last fault, or --without.")] = False
    without: Annotated[Natural, Option("The step that --control omits.", metavar="STEP", shown=False)] = 0

    def validate(self) -> None:
        super().validate()
        if not self.trace:
            raise RequestError("name a trace, a row of the track record (ZK-4394), or --random N")
        if self.without and not self.control:
            raise RequestError("--without needs --control")

    def variant_of(self, given: Configuration, release: str) -> str:
        """Return the variant that the servers of a release are compared with: with the settings of the trace's."""
        from zabspec.zookeeper.of_releases import of_servers, settled, variant_of

        if self.variant:
            return self.variant_for(release, given.start)
        return of_servers(settled(variant_of("zookeeper", release), release, given.variant), release, given.start)

    def read(self) -> Trace:
        """Return the trace.

        Raises:
            RequestError: there is no such trace, or it has no step of the number to leave out.
            NoVerdict: the protocol no longer has the row's run.
        """
        path = Path(self.trace)
        row = fspath(self.trace).upper().startswith("ZK-") and not path.exists()
        given = of_row(fspath(self.trace)) if row else verified_trace(path)
        if self.without > len(given.steps):
            raise RequestError(f"there is no step {self.without} in {self.trace}")
        return given

    def answer(self, watch: Watch = QUIET) -> Reenacted:
        from traces.zookeeper.reenact.messages import told_plan, told_run
        from traces.zookeeper.reenact.plan import decisive, plan_for
        from traces.zookeeper.reenact.reenactment import tried
        from traces.zookeeper.reenact.servers import settings_for
        from zabspec.zookeeper.of_releases import release_of

        path, texts = Path(self.trace), []
        given = self.read()
        release = self.release or release_of("zookeeper", given.configuration.variant)
        left_out = (self.without or decisive(given)) if self.control else 0
        plan = plan_for(given, self.variant_of(given.configuration, release), left_out)
        real = replace(self.found(release), settings=settings_for(plan.configuration.variant))
        folder = new_folder(Path(self.output) if self.output else path.with_suffix(f".{release}"))
        texts += [real.described(), *told_plan(plan)]
        if self.control:
            left = given.steps[left_out - 1]
            texts.append(f"control: without step {left.number}, {left.label}")
        runs = []
        with watch.working() as show:

            def failed(sentence: str) -> None:
                texts.append(sentence)
                show(sentence)

            for number in range(1, self.times + 1):
                place = folder / f"run{number}"
                run, tries = tried(place, real, plan, self.retries, self.patience, failed)
                leave(place, tries, given, plan, run)
                runs.append(run)
                if self.times > 1 or tries > 1:
                    said = "; ".join(told_run(plan, run))
                    texts.append(f"run {number}, {tries} tries, {run.seconds:.1f} s: {said}")
                show(f"{number} of {self.times} runs played")
        return Reenacted(self, given, plan, folder, runs, texts)


reenact = function(ReenactRequest)


def new_folder(path: Path) -> Path:
    """Make a folder that does not exist yet: nothing of an earlier run is overwritten.

    Raises:
        RequestError: it cannot be made.
    """
    made = path
    for k in range(2, 1000):
        if not made.exists():
            break
        made = path.with_name(f"{path.name}-{k}")
    try:
        made.mkdir(parents=True)
    except OSError as problem:
        raise RequestError(f"cannot make the folder {made}: {problem.strerror}") from None
    return made.resolve()


def of_row(name: str) -> Trace:
    """Return the run of a row of the track record.

    Raises:
        RequestError: there is no such row.
        NoVerdict: the protocol no longer has it.
    """
    from checker.zookeeper.runs import RUNS, trace_of_row
    from traces import TraceError

    issue = name[3:].lower()
    if issue not in RUNS:
        raise RequestError(f"there is no run of {name} to play; there are {', '.join(f'ZK-{i}' for i in RUNS)}")
    try:
        return trace_of_row(issue)
    except TraceError as problem:
        raise NoVerdict(f"the model no longer has the run of {name}: {problem}") from None


def leave(folder: Path, tries: int, trace: Trace, plan: ReenactmentPlan, run: ReenactedRun) -> None:
    """Write what accompanies packets, logs and data: the trace, and the model's run with the servers' events."""
    from traces import write_trace
    from traces.zookeeper.reenact.lanes import drawn_lanes

    (folder / "lanes.svg").write_text(drawn_lanes(folder / f"try{tries}", plan, run))
    write_trace(trace, folder / "run.trace.json")
