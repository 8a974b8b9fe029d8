"""Scenarios in the explorer's world: a command a step, in CPython."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from invariants import PROPERTIES
from invariants.registry import Property, meets
from tests.failing import shown
from tests.scenario_story import CRASHES, Output, Story, Trouble, command, verdict_lines, view
from traces import Step, Trace, build_trace, changes, headline, state_json, why
from traces.explain.names import counted, joined, message_text, process_name
from traces.record.runner import Runner
from traces.record.trace import StepWord, Transmission, model_of
from traces.record.values import carried
from zabspec.language.python.reference import MessageView
from zabspec.model import Configuration
from zabspec.worlds.steps import KINDS

MOST_RECEIPTS = 300  # of one command: votes of processes that look no longer are answered for ever

NOT_POSSIBLE = ["not possible"]


class Stepped(Story):
    """A run in the explorer's world, in CPython.

    Attributes:
        steps: what was done so far.
        broken, met: for each property the first step that broke it, or met its premise; 0: from the start.
    """

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.nodes = configuration.nodes
        self.model = model_of(configuration)
        self.runner = Runner(self.model)
        self.initial = state_json(self.runner.state)
        self.steps: list[Step] = []
        self.dropped: set[tuple[int, int, int]] = set()  # datagrams: source, target, number
        self.properties = [p for p in PROPERTIES if p.default and p.judges(configuration.protocol)]
        self.broken: dict[str, int] = {}
        self.met: dict[str, int] = {}
        self.judge()

    def trace(self, until: int | None = None) -> Trace:
        return Trace(self.configuration, "", "", "", self.initial, tuple(self.steps[:until]), "")

    def at_failure(self, expected: str, until: int | None = None) -> str:
        """The run, or its first steps, and at its end what was expected."""
        trace = self.trace(until)
        return shown(trace, {len(trace.steps): [f"after step {len(trace.steps)}: expected at {expected}"]})

    def judge(self) -> None:
        """Put every property to the test that has not broken."""
        r = self.runner
        for p in self.properties:
            if p.name not in self.broken and not r.keeps(p):
                self.broken[p.name] = r.taken
            if p.name not in self.met and self.meets(p):
                self.met[p.name] = r.taken

    def meets(self, p: Property) -> bool:
        return meets(p, self.runner.names, self.runner.state, self.runner.before if self.runner.taken else None)

    def traces(self) -> list[Trace]:
        """The whole run, then for each property that broke the run to there, all from the schedule."""
        words = self.trace().schedule
        cut = [
            build_trace(self.model, p, words[: self.broken[p.name]]) for p in self.properties if p.name in self.broken
        ]
        return [build_trace(self.model, None, words), *cut]

    # --- taking steps

    def step(self, word: int) -> Output:
        self.steps.append(self.runner.step(word))
        self.judge()
        return [headline(self.steps[-1]), *("  " + line for line in changes(self.trace(), len(self.steps)))]

    def take(self, kind: str, *operands: int) -> Output:
        """Take the step of that kind, if it is possible.

        Raises:
            Trouble: its budget is spent, which says nothing of the protocol.
        """
        s, budget = self.runner.state, KINDS[kind].spends
        if budget and not getattr(s, f"{budget}_left", 0):
            raise Trouble(f"no {budget} are left; `start` says how many there are")
        if kind == "abcast" and s.abcasts == self.configuration.txns:
            raise Trouble("no txns are left; `start` says how many there are")
        word = StepWord(kind, dict(zip(KINDS[kind].names, operands, strict=True))).word
        return self.step(word) if word in self.runner.possible() else NOT_POSSIBLE

    @command("P's oracle names P")
    def oracle(self, p: str, l: str) -> Output:
        return self.take("oracle", self.process(p), self.process(l))

    @command("the oracles of PS name P")
    def oracles(self, names: str, l: str) -> Output:
        """Several answers, one after the other; what came of them all."""
        first = len(self.steps)
        for p in self.processes(names):
            if self.take("oracle", p, self.process(l)) == NOT_POSSIBLE:
                raise Trouble(f"the oracle of {process_name(p)} cannot name {l} now")
        return self.summary(first)

    @command("P abcasts")
    def abcast(self, p: str) -> Output:
        return self.take("abcast", self.process(p))

    @command("P times out")
    def timeout(self, p: str) -> Output:
        return self.take("timeout", self.process(p))

    @command("P's (election|heartbeat) timer fires")
    def timer(self, p: str, timer: str) -> Output:
        return self.take({"election": "election_timeout", "heartbeat": "heartbeat"}[timer], self.process(p))

    @command("P (crashes|recovers)")
    def crash(self, p: str, what: str) -> Output:
        return self.take(CRASHES[what], self.process(p))

    @command("the connection of P to P is lost")
    def lose(self, f: str, l: str) -> Output:
        return self.take("lose_connection", self.process(f), self.process(l))

    @command("PS (?:is|are) cut off")
    def partition(self, names: str) -> Output:
        side = sum(1 << p for p in self.processes(names))
        if side & 1:
            side ^= (1 << self.nodes) - 1  # a cut is named by the side that p0 is not in
        return self.take("partition", side)

    @command("P learns of the loss of P")
    def learn(self, p: str, q: str) -> Output:
        a, b = self.process(p), self.process(q)
        output = self.take("leader_learns", a, b)
        return self.take("follower_learns", a, b) if output == NOT_POSSIBLE else output

    # --- messages

    @command("P receives from (P|itself)")
    def receive_any(self, p: str, _: str, source: str) -> Output:
        return self.receive(p, "", "", source)

    @command("P receives KIND from (P|itself)")
    def receive(self, p: str, wanted: str, _: str, source: str) -> Output:
        target, sender = self.process(p), self.process(source or p)
        self.known(wanted.partition("(")[0])
        found = [
            (word, m)
            for word, m in self.receipts()
            if (m.source, m.destination) == (sender, target) and self.is_wanted(m, wanted)
        ]
        if not found:
            there = [m for m in self.in_flight() if (m.source, m.destination) == (sender, target)]
            way = f"from {process_name(sender)} to {process_name(target)}"
            return [f"not possible: in flight {way} {self.listed(there) or 'is nothing'}"]
        if len({message_text(m, self.model) for _, m in found}) > 1:
            raise Trouble(f"that could be any of {', '.join(message_text(m, self.model) for _, m in found)}")
        return self.step(found[0][0])

    def is_wanted(self, m: Transmission, wanted: str) -> bool:
        """Whether a message is of the kind named, or carries what is written."""
        return not wanted or wanted in (m.kind, message_text(m, self.model))

    def known(self, kind: str) -> None:
        if kind and kind not in [m.name for m in self.model.union.messages]:
            raise Trouble(f"there is no message {kind}")

    def listed(self, messages: Sequence[Transmission]) -> str:
        return ("is " if len(messages) == 1 else "are ") + joined([m.kind for m in messages]) if messages else ""

    def receipts(self) -> list[tuple[int, Transmission]]:
        """What can be received now: step words, each with its message; lost datagrams left out."""
        found = [(w, StepWord.of(w)) for w in self.runner.possible()]
        made = [(w, parts, self.message(parts)) for w, parts in found if parts.row.receives]
        return [(w, m) for w, parts, m in made if not self.is_dropped(parts.operands["place"], m)]

    def message(self, parts: StepWord) -> Transmission:
        """The message that a step would receive."""
        s, o = self.runner.state, parts.operands
        if parts.row.message == "to_leader":
            return sent(s.to_leader[o["follower"]][o["leader"]][o["place"]], o["follower"], o["leader"])
        if parts.row.message == "to_follower":
            return sent(s.to_follower[o["follower"]][o["place"]], o["leader"], o["follower"])
        return sent(s.in_flight[o["place"]], o["source"], o["process"])

    def is_dropped(self, place: int, m: Transmission) -> bool:
        return bool(self.dropped) and (m.source, m.destination, self.numbers[place]) in self.dropped

    @property
    def numbers(self) -> list[int]:
        """The numbers of the datagrams in flight, place for place."""
        numbers: list[int] = self.runner.flight.queue  # type: ignore[attr-defined]
        return numbers

    def in_flight(self) -> list[Transmission]:
        """All that has not arrived and still may."""
        s, nodes = self.runner.state, range(self.nodes)
        if "in_flight" in self.model.program.layout.fields:
            every = [sent(m, m.source, m.target) for m in s.in_flight]
            return [m for place, m in enumerate(every) if not self.is_dropped(place, m)]
        up = [sent(m, f, l) for f in nodes for l in nodes for m in s.to_leader[f][l]]
        return up + [sent(m, s.leader[f], f) for f in nodes for m in s.to_follower[f]]

    @command(r"drop (everything|\w+)(?: from P)?(?: to P)?")
    def drop(self, wanted: str, source: str | None, target: str | None) -> Output:
        """A datagram that is lost is one that never arrives: here the world has no step for it."""
        if "in_flight" not in self.model.program.layout.fields:
            raise Trouble("only datagrams are dropped; over connections `the connection of ... is lost`")
        kind = "" if wanted == "everything" else wanted
        self.known(kind)
        output = []
        for place, m in enumerate(sent(m, m.source, m.target) for m in self.runner.state.in_flight):
            right_way = source in (None, process_name(m.source)) and target in (None, process_name(m.destination))
            if right_way and self.is_wanted(m, kind) and not self.is_dropped(place, m):
                self.dropped.add((m.source, m.destination, self.numbers[place]))
                output.append(f"{process_name(m.source)} -> {process_name(m.destination)}: {m.kind} never arrives")
        return output or ["not possible: there is none in flight"]

    @command("(everyone|PS) receives? until nothing(?: but KINDS)? is in flight( between them)?")
    def receive_all(self, who: str, _: str | None, but: str | None, between: str | None) -> Output:
        """Every message in turn, the lowest process first; what came of it all, as if it were one step."""
        if (who == "everyone") == bool(between):
            raise Trouble("it is `everyone receives ...`, or `p0 and p1 receive ... in flight between them`")
        inside = list(range(self.nodes)) if who == "everyone" else self.processes(who)
        left = re.findall(r"\w+", but.replace(" and ", " ")) if but else []
        for kind in left:
            self.known(kind)
        first = len(self.steps)
        while True:
            words = [
                w for w, m in self.receipts() if m.kind not in left and m.source in inside and m.destination in inside
            ]
            if not words:
                return self.summary(first)
            if len(self.steps) - first >= MOST_RECEIPTS:
                raise Trouble(f"after {MOST_RECEIPTS} receipts there is still something in flight")
            self.steps.append(self.runner.step(words[0]))
            self.judge()

    def summary(self, first: int) -> Output:
        """What all steps after the first few changed together."""
        taken = self.steps[first:]
        if not taken:
            return ["nothing is received"]
        count = Counter(label for step in taken for label in step.label.split(", "))
        labels = ", ".join(label if n == 1 else f"{label} x{n}" for label, n in count.items())
        before = dict(self.trace().states[first])
        after = taken[-1].state
        # what was received is no longer in flight, and is not lost
        before |= {name: after[name] for name in ("to_leader", "to_follower", "in_flight") if name in after}
        whole = replace(
            taken[-1],
            number=1,
            message=None,
            sent=(),
            delivered=tuple(d for step in taken for d in step.delivered),
            accepted=tuple(a for step in taken for a in step.accepted),
            established=tuple(e for step in taken for e in step.established),
        )
        trace = replace(self.trace(), initial=before, steps=(whole,))
        return [f"{counted(len(taken), 'step')}: {labels}", *("  " + line for line in changes(trace, 1))]

    # --- looking

    @command("show")
    def show(self) -> Output:
        return view(self.configuration.protocol, self.runner.state)

    @command("in flight")
    def show_in_flight(self) -> Output:
        ways: dict[str, list[str]] = {}
        for m in self.in_flight():
            ways.setdefault(f"{process_name(m.source)} -> {process_name(m.destination)}", []).append(
                message_text(m, self.model)
            )
        return [f"{way}: {', '.join(messages)}" for way, messages in sorted(ways.items())] or ["nothing"]

    @command("check")
    def check(self) -> Output:
        broken = [
            line
            for name, number in sorted(self.broken.items(), key=lambda x: x[1])
            for line in (f"violated since step {number}: {name}", "  " + why(self.trace(number), name))
        ]
        return verdict_lines(self.properties, self.met, self.broken) + broken


def sent(m: MessageView, source: int, target: int) -> Transmission:
    """A message as it is written, its number left out."""
    return Transmission(m.name, carried(m), source, target, 0, 0)
