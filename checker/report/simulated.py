"""Report the result of a simulated run: `zabcheck simulate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report import result
from checker.report.answer import Answered
from checker.report.progress import StatusLine
from checker.report.remarks import disjoint_notes, left_out, left_out_notes
from checker.report.result import CheckFindings, Part, Row, Table, Words, plural
from invariants import properties_of
from invariants.registry import STEP, TERMINAL
from traces import Trace, TraceError, write_trace
from traces.explain.folding import fitted
from traces.judging.simulated import NEVER, Judged, Verdict, judge
from traces.record.events import Event, events_of, lines, role_name
from traces.record.simulated import TooLarge, simulated_trace
from zabspec.language.layout.kinds import Kind
from zabspec.language.layout.notation import named_by, process_name, value_text, with_names
from zabspec.language.layout.schema import Field
from zabspec.protocols.registry import PROTOCOLS
from zabspec.roles import has, roles_of
from zabspec.simulator.dump import Difference, Dump, FieldDump, Process, difference, digest
from zabspec.simulator.run import Run, Simulator, play, simulator_for

if TYPE_CHECKING:
    from checker.requests.base.request import Request

HALVINGS = 4  # bisections to find the part of a run to draw: each plays it again


class Simulated(Answered):
    """The result of a simulated run.

    Attributes:
        run: the run: seed, sizes, delays, faults.
        dump: its canonical dump. sha256: the digest of the dump.
        request: the request; it says what is saved.
        names: the properties to check; empty for all that are checked by default.
        check: whether the run is checked. show: whether its end is shown.
        judged: the verdicts, each with an explanation.
        foreign: the dump of another program. difference: where it differs.
        unsaved: what could not be written.

    Raises:
        ConfigError, SimulationError: as for `play` and `judge`.
        TableError: it has too many proposals to be judged without the package that judges tables.
    """

    kind = "simulate"
    indent = 2

    def __init__(
        self,
        run: Run,
        request: Request,
        engine: str,
        names: tuple[str, ...],
        *,
        check: bool,
        show: bool,
        foreign: bytes | None = None,
    ) -> None:
        self.run, self.request, self.names, self.check, self.show = run, request, names, check, show
        self.trace = request.outputs.get("trace")
        self.fields: list[Field] = []
        self.own: list[dict[str, Any]] = []
        self.processes: list[Process] = []
        self.events: list[Event] = []
        self.judged: list[tuple[Verdict, str]] = []
        simulator = self.play(engine, "events" in request.outputs, check)
        self.state, self.protocol = simulator.state, simulator.cluster.parts_of
        if not self.protocol.declared.replicas:
            own = FieldDump(simulator.cluster.parts.fields, run.nodes)
            self.fields, self.own, self.dump = own.of_processes, own.processes(self.state), own.canonical(self.state)
        else:
            dump = Dump(simulator.layout)
            self.processes, self.dump = dump.processes(self.state), dump.canonical(self.state)
        self.sha256 = digest(self.dump)
        self.foreign = foreign
        self.difference = None if foreign is None else difference(self.dump, foreign)

    def play(self, engine: str, listen: bool, check: bool) -> Simulator:
        """Run the simulation in each requested way; return the simulator of the last one."""
        with Progress(self.run.rounds) as progress:
            simulator: Simulator | None = None
            if listen:
                simulator, self.events = events_of(self.run, progress.watch)
            if check:
                judged, verdicts = judge(self.run, engine, progress.watch, self.names)
                self.judged = [(v, "" if v.held else reason(judged, self.run, v)) for v in verdicts]
                self.judged += [] if self.names else not_judged(self.run.protocol, verdicts)
                # explaining a violation may have run it again, and not to its end
                simulator = simulator or judge(self.run, engine, names=self.names)[0]
            if simulator is None:
                simulator = play(self.run, engine, lambda c, e: progress.watch(simulator_for(c, e)))
            return simulator

    @property
    def broken(self) -> bool:
        """Whether the run violates a property."""
        return not all(v.held for v, _ in self.judged)

    @property
    def exit_code(self) -> int:
        """3 too where a check put nothing to the test: what is untested does not hold."""
        if self.difference and not self.unsaved:
            return VIOLATED
        return VIOLATED if self.broken and not self.unsaved else NO_VERDICT if self.unsaved or self.untested else HELD

    @property
    def untested(self) -> bool:
        """Whether a check put nothing to the test."""
        return self.check and not any(v.met for v, _ in self.judged)

    @property
    def raw(self) -> str:
        """The digest alone, as the lab's program prints it, if the request asks for no more."""
        return "" if self.check or self.show or self.foreign is not None else self.sha256

    @property
    def outputs(self) -> Sequence[tuple[Path, bytes]]:
        named = self.request.outputs
        dump = [(named["dump"], self.dump)] if "dump" in named else []
        return [*dump, (named["events"], lines(self.events))] if "events" in named else dump

    @property
    def saved(self) -> Sequence[str]:
        return [fspath(self.trace)] if self.trace and self.broken else []

    @property
    def verdict(self) -> str:
        """What the run violates, and whether its dump is the other one."""
        broken = ", ".join(f"{v.of.name} at tick {v.broken_at}" for v, _ in self.judged if v.judged and not v.held)
        said = [f"{plural(len(self.judged), 'property')} checked, none violated"] if self.check else []
        if self.untested:
            said = ["no verdict: no property was put to the test"]
        if self.foreign is not None:
            said.insert(0, f"the other dump {compared(self.difference)}")
        return "; ".join([f"VIOLATED: {broken}", *said[:-1]] if broken else said or ["not checked"])

    @property
    def sentence(self) -> str:
        return f"{self.verdict}; {self.summary()}; sha256 {self.sha256}"

    def said(self) -> Iterator[result.Verdict]:
        for v, why in self.judged:
            yield result.Verdict(v.of.name, verdict_word(v), None if v.held or not v.judged else v.broken_at, why)

    @property
    def check_findings(self) -> CheckFindings:
        """Return what a check compares with its expectations.

        A property that the run is not judged by is neither violated nor met.
        """
        judged = [v for v, _ in self.judged if v.judged]
        broken = [v for v in judged if not v.held]
        made = {v.of.name: result.Counterexample(why=why) for v, why in self.judged if v in broken}
        if broken:
            first = min(broken, key=lambda v: v.broken_at)
            with suppress(TraceError):  # it cannot be represented in the explorer's steps
                run = simulated_trace(self.run, first.of, first.broken_at + 1)
                made[first.of.name] = replace(made[first.of.name], trace=run)
        return CheckFindings(
            self.sentence,
            [v.of for v, _ in self.judged],
            {v.of.name: v.broken_at for v in broken},
            dict.fromkeys(v.of.name for v in judged if v.met),
            int(self.state.sim_moment),
            True,
            unit="tick",
            sha256=self.sha256,
            counterexamples=made,
            never_false=[v.of.name for v in judged if not v.can_fail],
        )

    @cached_property
    def drawn(self) -> tuple[Trace, list[tuple[str, str]]]:
        """The run as a trace, up to the first violation if there is one, and notes if the trace is only a part of it.

        Raises:
            TraceError: the run cannot be represented as a trace.
        """
        return self.told()

    @property
    def runs(self) -> Mapping[str, Trace]:
        """The run, under the name of the property that it violates first."""
        return {self.drawn[0].property_name: self.drawn[0]}

    def drawing(self) -> str:
        from traces.pictures.html import page

        trace, story = self.drawn
        return page(trace, story=story)

    def save(self) -> str:
        """Save the run up to the first violation in the file of the request; return what failed."""
        if not self.saved:
            return ""
        try:
            write_trace(self.told(in_part=False)[0], self.saved[0])
        except TraceError as problem:
            return f"the run cannot be written as a trace: {problem}"
        return ""

    def told(self, in_part: bool = True) -> tuple[Trace, list[tuple[str, str]]]:
        """Return the run as a trace, up to the first violation if there is one, and notes if it is only a part.

        Args:
            in_part: whether to return, of a run that is too large, as much as can be represented.

        Raises:
            TraceError: it cannot be represented, or not as a whole.
        """
        broken = [v for v, _ in self.judged if not v.held]
        first = min(broken, key=lambda v: v.broken_at) if broken else None
        of, until = (first.of, first.broken_at + 1) if first is not None else (None, None)
        story: list[tuple[str, str]] = []
        try:
            trace = simulated_trace(self.run, of, until)
        except TooLarge as problem:
            if not in_part:
                raise
            trace, tick = self.largest_part(self.run.rounds if until is None else until)
            story = [("Drawn in part", f"up to tick {tick} of {self.run.rounds}: {problem}.")]
        return replace(trace, request=self.request.as_json()), story

    def largest_part(self, end: int) -> tuple[Trace, int]:
        """Return the run up to a tick up to which it can be represented, and that tick.

        It is the last such tick to within a 16th.

        Raises:
            TraceError: no part of it can be represented.
        """
        found, tick = simulated_trace(self.run, None, 0), 0
        for _ in range(HALVINGS):
            middle = (tick + end) // 2
            try:
                found, tick = simulated_trace(self.run, None, middle), middle
            except TooLarge:
                end = middle
        return found, tick

    def parts(self) -> Sequence[Part]:
        warning = disjoint_notes(self.run)
        verdict = [fitted(self.verdict)] if self.check or self.foreign is not None else []
        parts: list[Part] = [*verdict, f"sha256 {self.sha256}", *([Words(warning)] if warning else [])]
        if self.show:
            head: Row = ("process", "role", "epochs", "last zxid", "committed", "history")
            if not self.protocol.declared.replicas:
                head = ("process", *(f.name for f in self.fields))
            parts.append(Table(self.rows(), head, below=self.summary()))
        parts += [self.table()] if self.check else []
        parts += [Words(notes)] if (notes := left_out_notes(self.left_out)) else []
        if self.trace:
            what = "saved in" if self.broken else "nothing is violated, and nothing was saved in"
            parts.append(f"{what} {self.trace}")
        return parts

    @property
    def left_out(self) -> Sequence[str]:
        return left_out(self.run.protocol, (v.of for v, _ in self.judged)) if self.check else ()

    def table(self) -> Table:
        """Return a table with a row for each verdict."""
        rows = [
            (v.of.name, verdict_word(v) + ("" if v.held else f" at tick {v.broken_at}"), why) for v, why in self.judged
        ]
        return Table(rows, ("property", "verdict", "why"))

    def rows(self) -> list[Row]:
        """Return the processes of the cluster, one in a row."""
        if not self.protocol.declared.replicas:
            roles = roles_of(self.protocol.roles(self.run.parameters))
            with named_by(roles):
                return [
                    (
                        process_name(p),
                        *(
                            own_text(f.kind, x[f.name], len(f.axes) - 1) if has(roles, f, p) else ""
                            for f in self.fields
                        ),
                    )
                    for p, x in enumerate(self.own)
                ]
        return [
            (
                f"p{p}",
                role_name(self.protocol, x.role),
                f"{x.current_epoch}/{x.accepted_epoch}",
                "<{},{}>".format(*x.last_zxid),
                "<{},{}>".format(*x.last_committed),
                history_text(x),
            )
            for p, x in enumerate(self.processes)
        ]

    def summary(self) -> str:
        """Return the other figures of the end of a run."""
        s = self.state
        system = f"quorums {self.run.quorums}; " if self.run.quorums else ""
        if not self.protocol.transactions:
            return f"{system}{s.sim_moment} ticks; {s.sim_seq} messages sent, {s.sim_queued} in flight"
        return (
            f"{system}{s.sim_moment} ticks; {s.abcasts} of {self.run.proposals} proposals abcast, "
            f"{s.sim_waiting} waiting for a leader; {s.sim_seq} messages sent, {s.sim_queued} in flight"
        )

    def as_objects(self) -> list[dict[str, Any]]:
        """Return the processes as JSON values."""
        if not self.protocol.declared.replicas:
            return [{"id": p, **x} for p, x in enumerate(self.own)]
        return [
            {
                "id": p,
                "role": role_name(self.protocol, x.role),
                "current_epoch": x.current_epoch,
                "accepted_epoch": x.accepted_epoch,
                "last_zxid": x.last_zxid,
                "last_committed": x.last_committed,
                "history": [{"epoch": e, "counter": c, "payload": f"zab-{k}"} for e, c, k in x.history],
            }
            for p, x in enumerate(self.processes)
        ]

    def details(self) -> dict[str, Any]:
        s = self.state
        out: dict[str, Any] = {
            "run": asdict(self.run),
            "sha256": self.sha256,
            "ticks": s.sim_moment,
            **({"abcast": s.abcasts, "waiting": s.sim_waiting} if self.protocol.transactions else {}),
            "sent": s.sim_seq,
            "in_flight": s.sim_queued,
            "processes": self.as_objects(),
        }
        if self.foreign is not None:
            out["difference"] = self.difference and asdict(self.difference)
        if self.check:
            out["properties"] = [
                {"name": v.of.name, "verdict": verdict_word(v)} | said_of(v, why) for v, why in self.judged
            ]
            out["not_checked"] = self.left_out
        if self.trace:
            out["trace"] = next(iter(self.saved), None)
        return out


def compared(found: Difference | None) -> str:
    """Return what a foreign dump differs in, in words."""
    if found is None:
        return "is equal"
    if not found.field:
        return f"differs at byte {found.byte}, where this dump ends"
    where = f"p{found.node}'s {found.field}" if found.node is not None else found.field
    there = "not there" if found.there is None else f"{found.there} there"
    return f"differs at byte {found.byte}: {where} is {found.here} here, {there}"


def not_judged(protocol: str, verdicts: Sequence[Verdict]) -> list[tuple[Verdict, str]]:
    """Return the properties of terminal states, and the protocol's own ones that no simulated run is judged by."""
    seen = {v.of.name for v in verdicts}
    left = [p for p in properties_of(protocol) if p.default and p.judges(protocol) and p.name not in seen]
    found = PROTOCOLS[protocol]
    if found.declared.replicas:
        left = [p for p in left if p.of == TERMINAL or p in found.claims]
    what = {
        STEP: "a simulated run is not checked step by step",
        TERMINAL: "a simulated run ends at a tick, with steps possible",
    }
    return [(Verdict(p, False, NEVER, judged=False), what.get(p.of, "it reads messages in flight")) for p in left]


def own_text(kind: Kind, value: Any, axes: int) -> str:
    """Return a field of a process as text; the field is an array with `axes` axes."""
    if axes:
        return "[" + ", ".join(own_text(kind, v, axes - 1) for v in value) + "]"
    return value_text(kind, value)


def history_text(x: Process) -> str:
    """Return a history as text, runs of consecutive proposals of an epoch written as one: `zab-0..4 <1,1..5>`."""
    stretches: list[list[tuple[int, int, int]]] = []
    for t in x.history:
        end = stretches[-1][-1] if stretches else None
        if end is not None and t == (end[0], end[1] + 1, end[2] + 1):
            stretches[-1].append(t)
        else:
            stretches.append([t])
    parts = []
    for (epoch, counter, k), *_, (_, last, end_k) in ([*part, part[-1]] for part in stretches):
        one = counter == last
        parts.append(f"zab-{k} <{epoch},{counter}>" if one else f"zab-{k}..{end_k} <{epoch},{counter}..{last}>")
    return ", ".join(parts) or "-"


def verdict_word(v: Verdict) -> str:
    if not v.judged:
        return "not judged"
    if not v.held:
        return "violated"
    return result.HOLDS if v.met else result.NOT_REACHED if v.can_fail else result.UNFALSIFIABLE


def said_of(v: Verdict, why: str) -> dict[str, Any]:
    """Return the further JSON values of a verdict."""
    if not v.judged:
        return {"why": why}
    return {} if v.held else {"tick": v.broken_at, "why": why}


def reason(judged: Judged, run: Run, v: Verdict) -> str:
    """Return the explanation of a property's violation, at the moment when it occurred."""
    judged.begin(run)
    judged.judge_until(v.broken_at + 1, 0)
    with named_by(roles_of(PROTOCOLS[run.protocol].roles(run.parameters))):
        said = with_names(judged.why(judged.properties.index(v.of)))
    return said or "The violation ended within the tick; --trace saves the run up to it."


class Progress(StatusLine):
    """The progress of a long run: the pulse of simulators."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds

    def watch(self, simulator: Simulator) -> Simulator:
        """Subscribe to a simulator, if progress is shown."""
        simulator.pulse = self if self.terminal else None
        return simulator

    def __call__(self, tick: int) -> None:
        if self.due():
            self.show(f"tick {tick:,} of {self.rounds:,}")
