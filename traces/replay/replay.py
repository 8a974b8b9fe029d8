"""Replay a trace through the simulator, from the trace alone.

For step k the script prepares one event in tick k, and the simulator's own loop, heap, links, clock and handlers do the
rest. After every step the abstracted state must equal the recorded one, and so must the messages received and sent, and
the transactions accepted, delivered, established and abcast. The property must be violated at the last step and not
before. For a lasso the simulator's loop must close too, and the run must be fair (`traces/record/fair.py`). The
explorer's successor function is not used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from invariants import Property
from invariants.binding import bound
from invariants.registry import keeps, meets
from traces.explain.names import counted, headline, process_name, txn_text
from traces.record.failure import START, STEP, Failure, failure_of, met_here
from traces.record.fair import NotFair, certify, closes
from traces.record.file import check_state
from traces.record.lasso import Lasso
from traces.record.runner import StepFailed
from traces.record.trace import Step, Trace, TraceError
from traces.record.values import message_bytes, state_of
from traces.record.verification import claimed, compare, judge, meet, premise_of, property_of, verify
from traces.replay.scripted import ScriptedSimulator
from zabspec.language.layout.kinds import MessageUnion
from zabspec.language.python.lang import NOBODY
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.model import Model
from zabspec.simulator.dump import Dump, digest
from zabspec.worlds.steps import PROCESSES

SIMULATOR = "the simulator gives"


@dataclass(frozen=True)
class Replayed:
    """A trace that replayed with every step equal.

    Attributes:
        steps: what the simulator did.
        property_name: the property that breaks at the last step; empty if the trace names none.
        dump: the canonical dump at the end; its digest is the lab's.
        lasso: the starvation that the trace claims, which was confirmed; None if it claims none.
        failure: the run-time error in which it ends; None if it ends in none.
    """

    steps: tuple[Step, ...]
    property_name: str
    dump: bytes
    lasso: Lasso | None = None
    failure: Failure | None = None

    @property
    def sha256(self) -> str:
        return digest(self.dump)

    @property
    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        said = f"replayed {counted(len(self.steps), 'step')} through the simulator, each equal to the recorded one"
        if self.failure is not None:
            return f"{said}; the run ends in the recorded run-time error: {self.failure.text}"
        if self.property_name:
            return f"{said}; {self.property_name} is violated at step {len(self.steps)} and not before"
        if self.lasso is not None:
            waits = self.lasso.sentence(len(self.steps))
            return f"{said}; the run is fair, and {self.lasso.progress_property} is not reached: {waits}"
        return said


def replay(trace: Trace, each: Callable[[Step], None] = lambda _: None) -> Replayed:
    """Replay a trace through the simulator.

    Args:
        trace: the trace.
        each: given each step when it was found equal.

    Raises:
        TraceError: the first difference, by step and field.
    """
    prop = claimed(trace)
    if trace.failure is not None:
        return replay_failing(trace, trace.failure, each)
    scripted = ScriptedSimulator(trace.model)
    compare("initial state", trace.initial, scripted.abstract, SIMULATOR)
    judged = Judge(trace.model)
    judged.see(scripted, None)
    last, met = len(trace.steps), premise_of(trace)
    judge(judged.keeps, prop, 0, last)
    meet(judged.meets, met, 0, last)
    steps: list[Step] = []
    begins = None if trace.lasso is None else trace.lasso.loop
    before = judged.after if begins == 0 else None
    for step in trace.steps:
        again = scripted.step(step.word)
        compare(f"step {again.number}", step.as_dict(), again.as_dict(), SIMULATOR)
        judged.see(scripted, again)
        judge(judged.keeps, prop, again.number, last)
        meet(judged.meets, met, again.number, last)
        steps.append(again)
        each(again)
        if begins == again.number:
            before = judged.after
    if before is not None and not closes(before, judged.after):
        raise NotFair("lasso: in the simulator the last step of the loop does not lead back to its beginning")
    certify(trace)
    return Replayed(tuple(steps), trace.property_name, canonical(scripted), trace.lasso)


def replay_failing(trace: Trace, failure: Failure, each: Callable[[Step], None]) -> Replayed:
    """Replay a run that ends in a run-time error, which the simulator has to meet as well.

    The simulator must fail in the same line of the author's source. If a capacity of the explorer was too small, the
    simulator must instead reach a state that does not fit the explorer's ranges.

    Raises:
        TraceError: the first difference, by step and field.
    """
    model, steps = trace.model, list[Step]()
    if failure.where == START:
        verify(trace)  # there is no step, and the handlers are the same in both worlds
        try:
            ScriptedSimulator(model)
        except ERRORS as error:
            hold_same(failure, failure_of(model, error, START))
            return Replayed((), trace.property_name, b"", None, failure)
        raise TraceError("initial state: the simulator meets no run-time error in it")
    scripted, judged = ScriptedSimulator(model), Judge(model)
    compare("initial state", trace.initial, scripted.abstract, SIMULATOR)
    judged.see(scripted, None)
    for step in trace.steps:
        last = step.number == len(trace.steps) and failure.where == STEP
        again = failing_step(scripted, step, failure) if last else scripted.step(step.word)
        compare(f"step {again.number}", step.as_dict(), again.as_dict(), SIMULATOR)
        if not last:
            judged.see(scripted, again)
        steps.append(again)
        each(again)
    if failure.where != STEP:
        asked = [property_of(trace, failure.judged)] if failure.judged else []
        before = judged.before if judged.taken else None
        met = met_here(model, judged.names, judged.after, before, asked, not failure.widen)
        if met is None:
            raise TraceError(f"step {len(steps)}, error: the simulator's run meets none")
        hold_same(failure, met)
    return Replayed(tuple(steps), trace.property_name, canonical(scripted), None, failure)


def failing_step(scripted: ScriptedSimulator, step: Step, failure: Failure) -> Step:
    """Let the simulator take a step that must meet a run-time error, and return what it did before it.

    Raises:
        TraceError: the simulator meets no run-time error, or another one.
    """
    before = scripted.abstract
    try:
        again = scripted.step(step.word)
    except StepFailed as found:
        if not failure.widen:
            hold_same(failure, found.failure)
        return found.step
    try:
        check_state(scripted.model.program.layout, again.state, "the state after it")
    except TraceError:
        if failure.widen:  # a capacity that only the explorer has
            nothing: dict[str, Any] = dict.fromkeys(("sent", "delivered", "accepted", "established", "observed"), ())
            return replace(again, state=before, abcast=None, label=step.label, **nothing)
        raise
    raise TraceError(f"step {step.number}, error: the simulator takes the step, and meets no run-time error")


def hold_same(said: Failure, met: Failure) -> None:
    """Check that the simulator meets the run-time error that the trace names.

    Raises:
        TraceError: it meets another one.
    """
    if not said.same_as(met):
        raise TraceError(f"error: the trace says {said.text}, {SIMULATOR} {met.text}")


def canonical(scripted: ScriptedSimulator) -> bytes:
    """Return the canonical dump of the simulator's state: the lab's format, or JSON for a user protocol."""
    if not scripted.model.protocol.declared.replicas:
        return json.dumps(scripted.abstract, sort_keys=True, separators=(",", ":")).encode()
    return Dump(scripted.program.layout).canonical(scripted.state)


class Judge:
    """Evaluates properties on the simulator's run, over its states in the explorer's schema."""

    def __init__(self, model: Model) -> None:
        self.names = bound(model)
        self.layout = model.program.layout
        self.before = self.after = StateView(self.layout)
        self.taken = 0

    def see(self, scripted: ScriptedSimulator, step: Step | None) -> None:
        """Move on to the next state, with the step that led to it (None for the initial state)."""
        self.before, self.after = self.after, state_of(self.layout, scripted.abstract)
        if step is None:
            return
        self.taken = step.number
        s, a = scripted.state, self.after
        processes = [value for name, value in step.word.operands.items() if name in PROCESSES]
        a.event = step.word.row.number
        a.event_process, a.event_peer = (*processes, NOBODY, NOBODY)[:2]
        a.accepts, a.accept_epoch = s.accepts, s.accept_epoch
        if step.message is not None:
            union = self.layout.fields["event_message"].kind
            assert isinstance(union, MessageUnion)
            at = self.layout.offset("event_message")
            raw = message_bytes(union, {"kind": step.message.kind, **step.message.fields})
            a.buffer[at : at + len(raw)] = raw

    def keeps(self, p: Property) -> bool:
        """Return whether the state, or the step that led to it, satisfies a property."""
        return bool(keeps(p, self.names, self.after, self.before if self.taken else None))

    def meets(self, p: Property) -> bool:
        """Return whether the state, or the step that led to it, meets the premise of a property."""
        return bool(meets(p, self.names, self.after, self.before if self.taken else None))


def happened(step: Step) -> str:
    """Return a step in one line: the process that took it, and what can be observed of it."""
    parts = [headline(step)]
    if step.abcast is not None and step.process is not None:
        parts.append(f"{process_name(step.process)} abcasts {txn_text(step.abcast)}")
    parts += [f"{process_name(e.process)} is the established leader of epoch {e.epoch}" for e in step.established]
    parts += [f"{process_name(d.process)} delivers {txn_text(d.txn)}" for d in step.delivered]
    if step.sent:
        parts.append(f"sends {counted(len(step.sent), 'message')}")
    return "; ".join(parts)
