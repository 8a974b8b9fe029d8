"""Prepare a trace for playing: its schedule in the model of a release, and the ids of the servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from traces.record.runner import Runner
from traces.record.trace import JsonState, Step, StepWord, Trace, TraceError
from traces.record.values import state_json
from traces.zookeeper.reenact.distributions import Cannot
from traces.zookeeper.reenact.mapping import unforceable
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS

FAULTS = ("crash", "lose_connection", "partition", "timeout", "log write fails")
OWN_EPOCH, SERVES = "write own currentEpoch", "startZkServer"
ESTABLISHED, NEW = "established", ""  # the starts of traces that can be played (`starts.py`)
PLAYED = (ESTABLISHED, NEW)
VOTERS = 3  # servers that vote; those behind them observe
INSIDE = (
    "snapshot at NEWLEADER", "persist at NEWLEADER", "write currentEpoch", "acknowledge NEWLEADER",
    OWN_EPOCH, SERVES,
)  # fmt: skip


@dataclass(frozen=True)
class ReenactmentPlan:
    """A run to re-enact on real servers.

    Attributes:
        configuration: the model with which the servers are compared.
        ids: the server of each process.
        broken: the names of the properties that the model violates at its end.
        skipped, inserted: what was left out of the trace, and added, for this release to have the run.
    """

    configuration: Configuration
    initial: JsonState
    steps: tuple[Step, ...]
    ids: tuple[int, ...]
    broken: tuple[str, ...]
    skipped: tuple[str, ...]
    inserted: tuple[str, ...]

    @property
    def states(self) -> list[JsonState]:
        return [self.initial, *(s.state for s in self.steps)]

    @property
    def observers(self) -> range:
        """Return the processes that observe."""
        return range(VOTERS, len(self.ids))


def plan_for(trace: Trace, variant: str, without: int = 0) -> ReenactmentPlan:
    """Return the plan that plays a trace on servers of a release.

    Args:
        trace: the trace.
        variant: the variant of the protocol for the release.
        without: the number of a step to leave out; 0 for none.

    Raises:
        Cannot: the trace is not of ZooKeeper, or has steps that cannot be forced; all of them are named.
    """
    c = trace.configuration
    if not PROTOCOLS[c.protocol].declared.releases:
        raise Cannot(f"a trace of protocol {c.protocol} cannot be played on ZooKeeper's servers")
    if c.start not in PLAYED or voters(c) != VOTERS:
        raise Cannot(
            "only traces of three servers that vote can be played yet, from the initial state or --start established"
        )
    if c.system and {*c.system.weights} != {0, 1}:
        raise Cannot(f"servers are started without groups and count majorities, and the trace has {c.quorums}")
    if bad := unforceable(trace.steps):
        raise Cannot("; ".join(bad))
    configuration = replace(c, variant=variant)
    model = Model(configuration)
    fitted = fit(model, [s for s in trace.steps if s.number != without])
    steps = fitted.steps
    voting = numbered([fitted.initial, *(s.state for s in steps)], steps, c.start)
    ids = (*voting, *range(VOTERS + 1, configuration.nodes + 1))
    return ReenactmentPlan(
        configuration, fitted.initial, tuple(steps), ids, fitted.broken, tuple(fitted.skipped), tuple(fitted.inserted)
    )


def voters(c: Configuration) -> int:
    """Return how many servers vote: those with a weight."""
    return sum(w != 0 for w in c.system.weights) if c.system else c.nodes


@dataclass
class Fitted:
    """A schedule that is adapted to a model."""

    initial: JsonState
    steps: list[Step]
    skipped: list[str]
    inserted: list[str]
    broken: tuple[str, ...] = ()


def fit(model: Model, asked: Sequence[Step]) -> Fitted:
    """Adapt a schedule to another model.

    A step that is not possible first waits for the steps that its process takes by itself (of NEWLEADER, of beginning
    to serve); else it is left out.
    """
    from invariants import properties_of

    runner = Runner(model)
    out = Fitted(state_json(runner.state), [], [], [])
    names = list(model.program.actions)
    judged = [p for p in properties_of(model.protocol.name) if p.default]
    found: dict[str, None] = {}
    early: list[tuple[int | None, str]] = []  # taken before the trace has them

    def take(word: StepWord) -> None:
        out.steps.append(runner.step(word.word))
        found.update((p.name, None) for p in judged if not runner.keeps(p))
        if (more := removes(runner, word.process, names)) is not None:
            take(more)

    for step in asked:
        word, p = same(step, names), step.word.process
        if step.word.kind == "leader_learns" and p is not None and writes_own_epoch(runner, p, names):
            early.append((p, OWN_EPOCH))
            out.inserted.append(f"{OWN_EPOCH} of p{p} before step {step.number}")
            take(by_itself(runner, p, names) or word)
        if (p, step.label) in early and not possible(runner, word):
            early.remove((p, step.label))
            continue
        while not possible(runner, word) and p is not None and (more := by_itself(runner, p, names)) is not None:
            early.append((p, names[more.operands["which"]]))
            out.inserted.append(f"{early[-1][1]} of p{p} before step {step.number}")
            take(more)
        if possible(runner, word):
            try:
                take(word)
            except TraceError as problem:
                raise Cannot(f"the run exceeds the bounds of this model: {problem}") from None
        else:
            out.skipped.append(f"step {step.number}, {called(step)}")
    out.broken = tuple(found)
    return out


def writes_own_epoch(runner: Runner, p: int, names: Sequence[str]) -> bool:
    """Return whether a leader's main thread is about to write currentEpoch.

    In the model it may learn of a loss before that; on a server the same thread does both, one after the other.
    """
    word = by_itself(runner, p, names)
    return word is not None and names[word.operands["which"]] == OWN_EPOCH


def serves_at_once(runner: Runner, names: Sequence[str]) -> StepWord | None:
    """Return the step in which a leader with a quorum of NEWLEADER begins to serve, or None.

    Leader.lead goes from waitForNewLeaderAck to startZkServer without a point where it can be held, while the model may
    interleave other steps.
    """
    for word in map(StepWord.of, runner.possible()):
        if word.kind == "action" and names[word.operands["which"]] == SERVES:
            return word
    return None


def removes(runner: Runner, p: int | None, names: Sequence[str]) -> StepWord | None:
    """Return the step in which a leader removes from toBeApplied what it has just applied (3.4), or None.

    On a server nothing happens between the two.
    """
    s = runner.state
    if p is None or not len(s.to_be_applied[p]) or not s.tree[p] >> s.to_be_applied[p][0] & 1:
        return None
    return own_step(runner, p, names, "commit thread")


def own_step(runner: Runner, p: int, names: Sequence[str], name: str) -> StepWord | None:
    """Return an action of a process by name, if it is possible now, or None."""
    words = map(StepWord.of, runner.possible())
    own = (w for w in words if w.kind == "action" and w.process == p)
    return next((w for w in own if names[w.operands["which"]] == name), None)


def same(step: Step, names: Sequence[str]) -> StepWord:
    """Return the word of a step in a model whose actions have these names."""
    if step.word.kind != "action":
        return step.word
    return StepWord("action", {**step.word.operands, "which": names.index(step.label.split(", ")[0])}, step.word.choice)


def called(step: Step) -> str:
    """Return a step as a phrase."""
    operands = ", ".join(f"{k} {v}" for k, v in step.word.operands.items() if k not in ("which", "place"))
    return f"{step.label} ({operands})"


def possible(runner: Runner, word: StepWord) -> bool:
    return word.word & 0xFFFFFFFF in runner.possible()


def by_itself(runner: Runner, p: int, names: Sequence[str]) -> StepWord | None:
    """Return the step that a process takes next by itself, or None.

    Such steps belong to NEWLEADER, to the leader's own epoch, or to beginning to serve.
    """
    for w in runner.possible():
        word = StepWord.of(w)
        if word.kind == "action" and word.process == p and names[word.operands["which"]] in INSIDE:
            return word
    return None


def numbered(states: Sequence[JsonState], steps: Sequence[Step], start: str = ESTABLISHED) -> tuple[int, ...]:
    """Return the server id of each process that votes.

    They are chosen so that where votes are equal the larger id is the model's leader. At the established start p0 leads
    one of a smaller id.

    Raises:
        Cannot: no assignment does that.
    """
    larger: list[tuple[int, int]] = []
    for before, s in zip(states, steps, strict=False):
        if s.word.kind == "elect":
            l, quorum = s.word.operands["leader"], s.word.operands["quorum"]
            for f in range(VOTERS):
                if quorum >> f & 1 and all(before[k][f] == before[k][l] for k in ("current_epoch", "last_processed")):
                    larger.append((l, f))
    for ids in sorted(permutations(range(1, VOTERS + 1)), key=lambda i: -i[0]):
        if (start != ESTABLISHED or ids[0] > 1) and all(ids[l] > ids[f] for l, f in larger):
            return ids
    ties = ", ".join(f"p{l} over p{f}" for l, f in larger)
    raise Cannot(f"no server ids decide elections between equal votes as in the trace: {ties}")


def decisive(trace: Trace) -> int:
    """Return the number of the step that a control run leaves out: the last fault, else the last step."""
    found = [s.number for s in trace.steps if s.word.kind in FAULTS or s.label in FAULTS]
    return found[-1] if found else len(trace.steps)
