"""Play a trace of protocol zookeeper on real ZooKeeper servers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from checker.errors import NoVerdict, RequestError
from checker.requests.carried import verified_trace
from checker.requests.request import at_least, seconds
from checker.requests.servers import ServersRequest

if TYPE_CHECKING:
    from checker.report.result import StatedResult
    from traces import Trace
    from traces.record.trace import Step
    from traces.reenact.distributions import Release
    from traces.reenact.plan import ReenactmentPlan
    from traces.reenact.reenactment import ReenactedRun

HELD, VIOLATED, NO_VERDICT = 0, 1, 3


@dataclass(frozen=True)
class PlayRequest(ServersRequest):
    """The servers to play runs on, and what they are compared with.

    Attributes:
        variant: what the servers' model has besides the release's, or, by its name, another release's model instead.
        retries: how often a run is repeated in which a step is not observed.
        patience: seconds that an effect may take.
        output: a new folder for the results; empty for one named by the trace.
    """

    variant: str = ""
    retries: int = 2
    patience: float = 20.0
    output: str = ""

    def validate(self) -> None:
        super().validate()
        at_least(self, 0, "retries")
        seconds(self, "patience")

    def variant_for(self, release: str, start: str = "established") -> str:
        """Return the variant that the servers of a release are compared with: the release's, with what is asked.

        Where a release's model is asked by its name, it takes the place of the servers' own.

        Args:
            start: where the run begins; empty for the initial state.
        """
        from checker.zookeeper.releases import names_of, of_servers, variant_of, with_settings
        from zabspec.protocols.registry import PROTOCOLS

        protocol = PROTOCOLS["zookeeper"]
        other = {*names_of(self.variant)} & {name for name in protocol.declared.releases if name}
        variant = with_settings(protocol, self.variant, "" if other else release) or variant_of("zookeeper", release)
        return of_servers(variant, release, start)


@dataclass(frozen=True)
class ReenactRequest(PlayRequest):
    """A trace to play on real servers.

    Attributes:
        trace: its file, or a row of the track record, such as `ZK-4394`.
        times: how often it is played.
        control: whether a step is left out: `without`, or the last fault if that is 0.
    """

    kind: ClassVar[str] = "reenact"

    trace: str = ""
    times: int = 1
    control: bool = False
    without: int = 0

    def validate(self) -> None:
        super().validate()
        at_least(self, 1, "times")
        at_least(self, 0, "without")
        if not self.trace:
            raise RequestError("name the trace to reenact")
        if self.without and not self.control:
            raise RequestError("--without needs --control")

    def read(self) -> Trace:
        """Return the trace.

        Raises:
            RequestError: there is no such trace, or it has no step of the number to leave out.
            NoVerdict: the protocol no longer has the row's run.
        """
        path = Path(self.trace)
        row = self.trace.upper().startswith("ZK-") and not path.exists()
        given = of_row(self.trace) if row else verified_trace(path)
        if self.without > len(given.steps):
            raise RequestError(f"there is no step {self.without} in {self.trace}")
        return given


class Reenacting:
    """Follows a re-enactment. This one shows nothing."""

    def planned(self, release: Release, plan: ReenactmentPlan, left_out: Step | None) -> None:
        """Report what will be played, on which servers, and the step of the trace that is left out."""

    def failed(self, sentence: str) -> None:
        """Report a try in which a step was not observed; another follows."""

    def played(self, plan: ReenactmentPlan, run: ReenactedRun, number: int, tries: int) -> None:
        """Report the end of a run."""


class ReenactmentMessages(Reenacting):
    """Collects the messages about a re-enactment.

    Attributes:
        texts: what happened, in order.
    """

    def __init__(self, request: ReenactRequest) -> None:
        self.request = request
        self.texts: list[str] = []

    def planned(self, release: Release, plan: ReenactmentPlan, left_out: Step | None) -> None:
        from traces.reenact.messages import told_plan

        self.texts += [release.described(), *told_plan(plan)]
        if left_out is not None:
            self.texts.append(f"control: without step {left_out.number}, {left_out.label}")

    def failed(self, sentence: str) -> None:
        self.texts.append(sentence)

    def played(self, plan: ReenactmentPlan, run: ReenactedRun, number: int, tries: int) -> None:
        from traces.reenact.messages import told_run

        if self.request.times > 1 or tries > 1:
            self.texts.append(f"run {number}, {tries} tries, {run.seconds:.1f} s: {'; '.join(told_run(plan, run))}")

    def stated(self, done: Reenacted) -> StatedResult:
        """Return the answer."""
        from checker.report.result import StatedResult
        from traces.reenact.messages import told_run
        from traces.reenact.rates import told_rate

        times = self.request.times
        texts = [*self.texts, *(told_run(done.plan, done.runs[-1]) if times == 1 else [])]
        agreed, broken = told_rate(done.agreed, times), told_rate(done.broken, times)
        sentence = f"all steps agree: {agreed}; violated on the servers: {broken}"
        texts += [sentence] if times > 1 else []
        code = VIOLATED if done.broken else HELD if done.agreed == times else NO_VERDICT
        content = {
            "request": self.request.as_json(), "sentence": sentence, "agreed": done.agreed, "broken": done.broken,
            "folder": str(done.folder), "exit_code": code,
        }  # fmt: skip
        return StatedResult(sentence, code, content, ["\n".join([*texts, f"left in {done.folder}"])], kind="reenact")


@dataclass(frozen=True)
class Reenacted:
    """A trace, as it was played.

    Attributes:
        runs: the last try of each time.
        folder: the files that it left.
    """

    plan: ReenactmentPlan
    folder: Path
    runs: list[ReenactedRun] = field(default_factory=list)

    @property
    def agreed(self) -> int:
        """The number of times that every step agreed with the model."""
        return sum(r.agreed for r in self.runs)

    @property
    def broken(self) -> int:
        """The number of times that every step agreed, and the servers broke what they promise."""
        return sum(r.agreed and bool(r.harm) for r in self.runs)


def answer(request: ReenactRequest, watch: Reenacting | None = None) -> Reenacted:
    """Play a trace.

    Raises:
        RequestError: there is no such trace, or the folder cannot be made.
        NoVerdict: the servers cannot be run here.
    """
    from checker.zookeeper.releases import of_servers, release_of, settled
    from traces.reenact.distributions import Cannot
    from traces.reenact.plan import decisive, plan_for
    from traces.reenact.reenactment import tried
    from traces.reenact.servers import settings_for

    watch, path = watch or Reenacting(), Path(request.trace)
    given = request.read()
    release = request.release or release_of("zookeeper", given.configuration.variant)
    left_out = (request.without or decisive(given)) if request.control else 0
    try:
        variant = request.variant_for(release, given.configuration.start)
        if not request.variant:
            asked = settled(request.variant_for(release), release, given.configuration.variant)
            variant = of_servers(asked, release, given.configuration.start)
        plan = plan_for(given, variant, left_out)
        real = replace(request.found(release), settings=settings_for(plan.configuration.variant))
        done = Reenacted(plan, new_folder(Path(request.output) if request.output else path.with_suffix(f".{release}")))
        watch.planned(real, plan, given.steps[left_out - 1] if request.control else None)
        for number in range(1, request.times + 1):
            place = done.folder / f"run{number}"
            run, tries = tried(place, real, plan, request.retries, request.patience, watch.failed)
            leave(place, tries, given, plan, run)
            done.runs.append(run)
            watch.played(plan, run, number, tries)
    except Cannot as problem:
        raise NoVerdict(str(problem)) from None
    return done


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
    from traces.reenact.lanes import drawn_lanes

    (folder / "lanes.svg").write_text(drawn_lanes(folder / f"try{tries}", plan, run))
    write_trace(trace, folder / "run.trace.json")
