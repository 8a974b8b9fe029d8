"""The JSON reports of an exploration and of a liveness check, as types.

A report that is read back is checked by its type, and the JSON schema is derived from it: `python -m
checker.report.documents` prints it. Objects are constructed in the order of their keys.
"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from checker.opinion.outcome import SecondOpinionJson
from zabspec.configuration import ConfigurationJson
from zabspec.typed import Natural, Typed, one_of, schema

Version = Annotated[int, Meta(ge=1, le=1)]
ExitCode = Annotated[int, Meta(ge=0, le=3)]
Verdict = Annotated[str, one_of("holds", "premise not reached", "can never be False", "violated", "no verdict")]
Kind = Annotated[str, one_of("history", "state", "step", "terminal", "runtime")]
ByZ3 = Annotated[str, one_of("inductive", "bounded", "undecided")]
EngineName = Annotated[str, one_of("compiled", "interpret", "spark")]
EvidenceKind = Annotated[str, one_of("inductive", "proof", "refinement")]
EvidenceStatus = Annotated[str, one_of("recorded", "computed here", "not computed")]
Count = Annotated[int, Meta(ge=1)]
Amount = Annotated[int, Meta(ge=0, le=2**62)]
Positive = Annotated[int, Meta(ge=1, le=2**62)]
FromMinusOne = Annotated[int, Meta(ge=-1)]
Quantity = Annotated[float, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0, le=1)]
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="64 hexadecimal digits")]


class PromiseReport(Typed, frozen=True):
    """An order hook of the protocol that merges or reorders steps on its author's word.

    Attributes:
        hook: its name.
        of: the variant or the file that has it.
        page: the page that states what it promises.
    """

    hook: str
    of: str
    page: str


class Reaching(Typed, frozen=True, kw_only=True):
    """An exploration that reaches premises which this one did not reach.

    Attributes:
        argv: the command, word by word.
        seconds: its time as last measured.
        leaves_out: the faults that it leaves out, of those of this exploration.
        premises: the properties whose premises it reaches.
        sentence: all of this in words.
    """

    argv: list[str]
    seconds: float
    leaves_out: list[str]
    premises: list[str]
    sentence: str


class EvidencePiece(Typed, frozen=True, kw_only=True):
    """Evidence beside an exploration.

    Attributes:
        kind: inductive: z3 showed that every step of this protocol keeps the clauses; proof: of abstract ZAB, for any
            number of processes; refinement: whether every step of this protocol is one of abstract ZAB.
        bounds: the sizes and faults within which its claims are made.
        status: recorded with the package for the same sources and solver; computed on this machine; or not computed.
        command: what computes it.
        digest: of all that it depends on; null: it is not computed.
        why: of a piece: a sentence beside its claims; null: there is nothing to add.
        claim: of a property: what is claimed of it, by a refinement of the whole protocol; null: nothing.
    """

    kind: EvidenceKind
    bounds: str
    status: EvidenceStatus
    command: str
    digest: Digest | None
    why: str | UnsetType | None = UNSET
    claim: str | UnsetType | None = UNSET


class EvidenceColumns(Typed, frozen=True):
    """The columns of evidence that stand beside each property.

    Attributes:
        columns: the names of the columns.
        cells: by property, what the columns say of it; empty text: nothing.
        legend: what the columns mean, and what computes that which is not computed.
        pieces: the evidence as a whole.
    """

    columns: list[str]
    cells: dict[str, list[str]]
    legend: list[str]
    pieces: list[EvidencePiece]


class Derived(Typed, frozen=True):
    """What follows from the configuration.

    Attributes:
        epochs: the largest epoch that the budgets allow; 0: the protocol has none. A value beyond a derived
            range is no verdict (exit code 3), with the run and the flag that widens it.
        channel_to_leader: messages a channel to a leader holds.
        channel_to_follower: messages a channel to a follower holds.
    """

    epochs: Natural
    channel_to_leader: Count
    channel_to_follower: Count


class LimitsReport(Typed, frozen=True):
    """How far to go.

    Attributes:
        depth: steps, which are part of the request; for liveness, how deep the stabilization time may lie; null: no
            limit.
        max_states: distinct states; for liveness, of either phase.
        seconds: time.
        memory_bytes: memory in use.
    """

    depth: Natural | None
    max_states: Count | None
    seconds: Quantity | None
    memory_bytes: Count | None


class ExplorationLimits(LimitsReport, frozen=True):
    """How far to go.

    Attributes:
        keep_going: whether to continue past violations.
    """

    keep_going: bool


class Coverage(Typed, frozen=True):
    """How far it went.

    Attributes:
        exhausted: no state is left to expand: the verdicts are for every depth.
        request_covered: every state asked for was looked at.
        complete_depth: every state up to this depth was found and judged; -1: none was.
        stopped: why it was cut short (a limit, interrupted, out of memory).
        error: the run-time error that ended it: of the author's text (then no-runtime-error is violated), or
            a capacity that was too small, with the flag that widens it.
        error_trace_file: where the run was saved that needs more room than a capacity gives.
    """

    exhausted: bool
    request_covered: bool
    complete_depth: FromMinusOne
    stopped: str | None
    error: str | None
    error_trace_file: str | None


class ViolationReport(Typed, frozen=True):
    """A counterexample.

    Attributes:
        depth: its steps.
        schedule: the schedule: each step with its choice, as zabspec/worlds/connections.py encodes it.
        trace_file: where the trace was saved.
        text: the trace as a person reads it.
        why: why the run cannot be: what the property says beside its False, and at which steps what it names
            happened.
        replayed: whether the counterexample was replayed in the simulator, step by step equal.
        sha256: the SHA-256 of the simulator's canonical dump at the end of the replay.
        problem: why it could not be written down, or does not replay.
        start: the number of the state in which the run begins, if runs begin in several.
    """

    depth: Natural
    schedule: list[int]
    trace_file: str | None
    text: str | None
    why: str | None
    replayed: bool
    sha256: str | None
    problem: str | None
    start: int | UnsetType = UNSET


class SymbolicReport(Typed, frozen=True):
    """What z3 says of it, where --symbolic asked.

    Attributes:
        verdict: inductive: it holds at every depth; bounded: in every run of so many steps.
        steps: of a bounded one, how many steps.
        epochs: of an inductive one, the largest epoch it is proved for.
        violated_within: the depth with which `zabcheck bmc` finds a run that breaks it, deeper than the
            exploration went.
        premise_reached: whether a run within the bound meets its premise; null: it is not known.
        problem: the error because of which it is undecided.
        within: of an inductive one, the flags beside --max-epoch whose ranges some step would leave: it holds
            of runs without such a step.
    """

    verdict: ByZ3
    steps: int | None
    epochs: int | None
    violated_within: int | None
    premise_reached: bool | None
    problem: str | None
    within: list[str]


class PropertyReport(Typed, frozen=True, kw_only=True):
    """A property and its verdict.

    Attributes:
        name: as on the command line.
        of: what it is a property of.
        source: where the paper states it.
        statement: the paper's statement.
        premise: what puts it to the test.
        verdict: its verdict.
        witnessed_at: the least depth at which its premise is true; null: nowhere in what was looked at.
        violation: the shortest run that breaks it; null: none was found.
        symbolic: what z3 says of it, where --symbolic asked.
        evidence: evidence of other kinds, each piece with its bounds, origin, command and digest; no verdict
            follows from it. Missing: none was requested.
    """

    name: str
    of: Kind
    source: str
    statement: str
    premise: str
    verdict: Verdict
    witnessed_at: Natural | None
    violation: ViolationReport | None
    symbolic: SymbolicReport | UnsetType = UNSET
    evidence: list[EvidencePiece] | UnsetType = UNSET


class States(Typed, frozen=True):
    """Counts of states.

    Attributes:
        distinct: distinct states found; with symmetry, states that are renamings of each other count once.
        raw: the states that the distinct ones stand for, renamings counted apart: as many as are found with
            --no-symmetry, if the initial state distinguishes no process.
        generated: successors computed, the same state as often as it was reached; each alternative of a
            nondeterministic tie is one.
        terminal: states expanded in which no step is possible, or none but stuttering receipts where these
            are left out. States at the last depth requested are not expanded and not counted. Reduced: states
            that differ only in ghosts that no checked property reads count once.
        depth: the depth of the deepest state found.
        levels: distinct states at each depth, from 0.
        collision_probability: that two of n distinct states share a fingerprint, so that one was missed: at
            most n(n-1)/2 / 2^64. 0 for the interpreted engine; n(n-1)/2 / 2^128 with 128 bits, which --engine
            spark has on a cluster by default, and for more than 192 million states.
    """

    distinct: Natural
    raw: Natural
    generated: Natural
    terminal: Natural
    depth: FromMinusOne
    levels: list[Amount]
    collision_probability: Probability


class Cost(Typed, frozen=True):
    """What it took.

    Attributes:
        seconds: time spent exploring.
        cpu_seconds: the same on all cores together; on Spark of Python's processes, the driver and tasks at
            their work.
        compile_seconds: time spent making the model ready: compiling it, or loading it from the cache; also
            compiling it for speed after two seconds of work.
        states_per_second: distinct states for each second spent exploring.
        states_per_cpu_second: distinct states for each CPU-second.
        memory_bytes: memory of the whole process at its peak; on Spark of the largest process of Python.
        bytes_per_state: that for each distinct state; of a small run nearly all is the program itself. Null
            on Spark.
    """

    seconds: Quantity
    cpu_seconds: Quantity
    compile_seconds: Quantity
    states_per_second: float | None
    states_per_cpu_second: float | None
    memory_bytes: Natural
    bytes_per_state: float | None


class SparkJobs(Typed, frozen=True):
    """What Spark was used for. Absent: another engine explored.

    Attributes:
        jobs: levels that were jobs; the driver expanded the others.
    """

    jobs: Natural


class Engine(Typed, frozen=True, kw_only=True):
    """What explored.

    Attributes:
        name: machine code and fingerprints, CPython and plain sets of states, or machine code in tasks of
            Spark.
        threads: cores used; null: not applicable. Counts, verdicts and traces do not depend on their number.
        symmetry: whether renamings of a state counted once.
        symmetry_off: why symmetry was not used.
        reduced: whether transitions to states that are reached anyhow were left out
            (docs/explanation/reductions.md): all counts of transitions, and of states generated, are then of
            those taken. Counts are then labelled reduced.
        ample_sets: whether states were left out, too (ample sets): all counts are of what was visited, and
            depths of premises are of some run (witnessed by depth 25), not of a shortest one.
        ample_sets_off: why no state had fewer steps than are possible, which properties of steps are the
            reason; absent where some had, or none was looked at.
        merged: what states were told apart by less than all that was observed, and how much less; absent: by
            all.
        reduction_off: why none were left out.
        stuttering_left_out: whether stuttering receipts were left out: verdicts and premises are the same,
            states, depth and terminal states are without them.
        stuttering_off: why they were not left out.
        spark: what Spark was used for. Absent: another engine explored.
    """

    name: EngineName
    threads: Count | None
    symmetry: bool
    symmetry_off: str | None
    reduced: bool
    ample_sets: bool
    ample_sets_off: str | UnsetType = UNSET
    merged: str | UnsetType = UNSET
    reduction_off: str | None
    stuttering_left_out: bool
    stuttering_off: str | None
    spark: SparkJobs | UnsetType = UNSET


class ExplorationReport(Typed, frozen=True, kw_only=True):
    """What `zabcheck --json` writes on stdout (docs/reference/file-formats.md).

    Attributes:
        format: the version of this format, now 1.
        zabcheck: the version of zabcheck that wrote it.
        verdict: holds: not violated, and its premise was met; premise not reached: it was not checked non-vacuously;
            can never be False: no state violates it; no verdict: not violated in what was explored, which is less than
            was requested; of a whole run also that a premise that had to be reached was not.
        sentence: the verdict with its bounds, in one line.
        exit_code: 0: all held, and something was put to the test; 1: a violation was found and written down;
            3: no verdict, or nothing was put to the test; also for want of a witness that was required, or it
            could not be written down.
        error: why something could not be written: the exit_code is 3 then, whatever was found.
        request: the request of which this is the answer, as checker/requests/base/kinds.py reads it: its kind, and
            each value that is not the default. Null: not known. The JSON of other requests has it too.
        configuration: the question: protocol, variant, network and budgets, as on the command line.
        merged_by_promise: the order hooks of the protocol that merge or reorder steps on its author's word
            (docs/explanation/reductions.md): every verdict rests on them.
        derived: what follows from the configuration.
        limits: how far to go. A depth is part of the question; the others cut the exploration short.
        coverage: how far it went.
        properties: the properties judged. The last row is no-runtime-error, which is built in: for user
            protocols, and for others where it is violated.
        states: counts of states.
        steps: for each step of the paper, how many transitions entered it; one transition may enter several
            steps.
        required: the properties whose premise had to be reached (--require-witness).
        not_checked: the properties of the protocol that were not checked: --property checks what it names.
        to_reach: what reaches the premises not reached here, or that nothing known does.
        never_taken: the steps of the paper that no transition entered.
        unused: what of a user protocol has no effect: messages that nothing sends, functions that nothing
            calls, properties that are never False, each in a sentence with its line.
        events: for each kind of step, how many transitions were of that kind.
        cost: what it took.
        engine: what explored.
        evidence: the columns that stand beside each property; docs/reference/properties-and-verdicts.md says
            what they mean. Missing: nobody looked for any.
        second_opinion: how the opinion of the second semantics compares. Missing: none was requested.
    """

    format: Version
    zabcheck: str
    verdict: Verdict
    sentence: str
    exit_code: ExitCode
    error: str | UnsetType = UNSET
    request: dict[str, Any] | None
    configuration: ConfigurationJson
    merged_by_promise: list[PromiseReport]
    derived: Derived
    limits: ExplorationLimits
    coverage: Coverage
    properties: list[PropertyReport]
    states: States
    steps: dict[str, Amount]
    never_taken: list[str]
    unused: list[str]
    not_checked: list[str]
    required: list[str]
    to_reach: list[Reaching]
    events: dict[str, Positive]
    cost: Cost
    engine: Engine
    evidence: EvidenceColumns | UnsetType = UNSET
    second_opinion: SecondOpinionJson | UnsetType = UNSET


class LiveDerived(Typed, frozen=True):
    """What follows from it.

    Attributes:
        epochs: the largest epoch there is room for.
    """

    epochs: Natural


class FaultPhase(Typed, frozen=True):
    """The phase with faults.

    Attributes:
        states: distinct states.
        raw: renamings counted apart.
        depth: how deep they lie.
        exhausted: there are no more.
        symmetry_off: why renamings count apart; null: they do not.
        collision_probability: that two of them share a fingerprint.
    """

    states: Natural
    raw: Natural
    depth: Natural
    exhausted: bool
    symmetry_off: str | None
    collision_probability: Quantity


class StablePhase(Typed, frozen=True):
    """The phase after the stabilization time.

    Attributes:
        stabilization_times: states in which it may begin, each with who is named.
        states: states, each with who is named.
        steps: steps between them.
        steps_left_out: steps after which what is assumed is no longer so.
        complete: there are no more.
    """

    stabilization_times: Natural
    states: Natural
    steps: Natural
    steps_left_out: Natural
    complete: bool


class StarvingReport(Typed, frozen=True):
    """The run.

    Attributes:
        process: who waits.
        named: who is named from the stabilization time on; null: nobody is.
        schedule: every step, the loop's once.
        configuration: in which these are steps of the world: giving up costs a timeout there.
        stabilization_time: after so many steps the stable phase begins.
        loop: after so many steps the loop begins, to which the last step leads back; null: the run ends, and
            nothing more need happen.
        text: the run as a person reads it.
        trace_file: where the run is saved.
        followed: it was found by following one way of receiving, and is not known to be short.
        replayed: it was replayed in the simulator, and held to be fair in the interpreted world.
        sha256: of the simulator's dump at its end.
        problem: why it does not count, or is not written down.
    """

    process: Natural
    named: int | None
    schedule: list[int]
    configuration: ConfigurationJson
    stabilization_time: Natural
    loop: int | None
    text: str | None
    trace_file: str | None
    followed: bool
    replayed: bool
    sha256: str | None
    problem: str | None


class GoalReport(Typed, frozen=True):
    """A progress property.

    Attributes:
        name: its name.
        source: where it is stated.
        statement: what must come.
        verdict: its verdict.
        holds_with: the variant under which it holds within the budgets of docs/explanation/liveness.md, where
            the protocol itself violates it; null: none is known, or it is not violated.
        starving: A fair run in which a process waits for ever; null: none was found.
    """

    name: str
    source: str
    statement: str
    verdict: Verdict
    holds_with: str | None
    starving: StarvingReport | None


class LiveCost(Typed, frozen=True):
    """What it took.

    Attributes:
        seconds: wall time.
        cpu_seconds: CPU time.
        compile_seconds: making the model ready.
        memory_bytes: at the peak.
        threads: of the fault phase.
    """

    seconds: Quantity
    cpu_seconds: Quantity
    compile_seconds: Quantity
    memory_bytes: Natural
    threads: Natural


class LiveReport(Typed, frozen=True, kw_only=True):
    """What `zabcheck --live --json` writes on stdout; docs/explanation/liveness.md says more.

    Attributes:
        format: the version of this format.
        zabcheck: the version of zabcheck that wrote it.
        verdict: the verdict of the whole.
        sentence: the verdict with its bounds, in one line.
        exit_code: 0: nobody waits for ever; 1: somebody does; 3: no verdict.
        request: the request of which this is the answer: its kind, and each value that is not the default.
            Null: not known.
        configuration: the question, with the room it was asked in.
        merged_by_promise: the order hooks of the protocol that merge or reorder steps on its author's word
            (docs/explanation/reductions.md): every verdict rests on them.
        derived: what follows from it.
        limits: where to give up; null: nowhere.
        assumptions: what is assumed of fair runs, a sentence each.
        stopped: why not every fair run was looked at that was asked for; null: it was.
        fault_phase: the phase with faults.
        second_opinion: how the interpreter's opinion of the machine code compares, in random runs.
        stable_phase: the phase after the stabilization time.
        not_checked: the progress properties that were not checked: --progress-property checks what it names.
        progress_properties: the progress properties that were checked.
        cost: what it took.
    """

    format: Version
    zabcheck: str
    verdict: Verdict
    sentence: str
    exit_code: ExitCode
    request: dict[str, Any] | None
    configuration: ConfigurationJson
    merged_by_promise: list[PromiseReport]
    derived: LiveDerived
    limits: LimitsReport
    assumptions: list[str]
    stopped: str | None
    fault_phase: FaultPhase
    stable_phase: StablePhase
    second_opinion: SecondOpinionJson
    progress_properties: list[GoalReport]
    not_checked: list[str]
    cost: LiveCost


if __name__ == "__main__":
    json.dump(schema(LiveReport if sys.argv[1:] == ["live"] else ExplorationReport), sys.stdout, indent=1)
