"""Scenarios in the simulator: faults at ticks, and the cluster at others."""

from __future__ import annotations

from dataclasses import replace

from tests.scenario_story import CRASHES, Output, Story, Trouble, command, verdict_lines, view
from traces.judging.simulated import Judged, judge
from zabspec.simulator.dump import Dump, digest
from zabspec.simulator.model import Cluster
from zabspec.simulator.run import Fault, Run, in_a_room


class Simulated(Story):
    """A run of the simulator, in CPython. Faults are told as the story goes and a run is set up with
    all of them, so it is played again from the start when there is a new one."""

    def __init__(self, run: Run) -> None:
        self.run, self.nodes = run, run.nodes
        self.now = 0

    def add(self, tick: str, *faults: tuple[str, int, int]) -> Output:
        """Put faults on the schedule."""
        if int(tick) < self.now:
            raise Trouble(f"the run is at tick {self.now} already")
        self.run = replace(self.run, faults=(*self.run.faults, *(Fault(int(tick), *f) for f in faults)))
        return []

    @command("at tick N nothing from P reaches P")
    def cut(self, tick: str, p: str, q: str) -> Output:
        return self.add(tick, ("cut", self.process(p), self.process(q)))

    @command("at tick N PS (?:is|are) (cut off|connected again)")
    def partition(self, tick: str, names: str, what: str) -> Output:
        inside = self.processes(names)
        ways = [(a, b) for a in inside for b in range(self.nodes) if b not in inside]
        kind = "cut" if what == "cut off" else "heal"
        return self.add(tick, *((kind, *way) for a, b in ways for way in ((a, b), (b, a))))

    @command("at tick N P (crashes|recovers)")
    def crash(self, tick: str, p: str, what: str) -> Output:
        return self.add(tick, (CRASHES[what], self.process(p), -1))

    @command("at tick N P times out")
    def timeout(self, tick: str, p: str) -> Output:
        return self.add(tick, ("timeout", self.process(p), -1))

    @command("at tick N the connection of P to P is lost")
    def lose(self, tick: str, f: str, l: str) -> Output:
        return self.add(tick, ("lose", self.process(f), self.process(l)))

    @command("run to tick N")
    def run_to(self, tick: str) -> Output:
        until = int(tick)
        if not self.now < until <= self.run.rounds:
            raise Trouble(f"the run is at tick {self.now} and ends at tick {self.run.rounds}")
        self.now = until
        simulator = in_a_room(self.run, True, self.simulator)
        dump = Dump(simulator.layout).canonical(simulator.state)
        return [*view(self.run.protocol, simulator.state), f"sha256 {digest(dump)}"]

    def simulator(self, cluster: Cluster) -> Judged:
        """An observed cluster that was run to the tick there is."""
        simulator = Judged(cluster, "interpret")
        simulator.begin(self.run)
        simulator.advance(self.now)
        return simulator

    @command("check")
    def check(self) -> Output:
        if self.now < self.run.rounds:
            raise Trouble(f"a simulated run is judged at its end, and this is at tick {self.now}")
        verdicts = judge(self.run, "interpret")[1]
        broken = {v.of.name: v.broken_at for v in verdicts if not v.held}
        met = [v.of.name for v in verdicts if v.met]
        said = [f"violated since tick {tick}: {name}" for name, tick in sorted(broken.items(), key=lambda x: x[1])]
        return verdict_lines([v.of for v in verdicts], met, broken) + said
