"""Decide whether renaming processes commutes with stepping: from the source, then by trial.

Symmetry merges a state with its renamings. That is sound when the steps of a renamed state are the renamed steps, and
every property has the same value in both. It is so by construction if the source of world, protocol, variant and
properties treats processes as a scalarset (`zabspec/language/symmetry.py`), which is what decides (`asymmetry`). Random
walks test it in addition (`why_not_symmetric`).

The trusted functions that compute numbers of processes are listed here and nowhere else.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from checker.errors import NoVerdict
from checker.explore import masks
from invariants.binding import full_namespace
from invariants.registry import STEP, Property
from zabspec.language.front.frontend import FrontEnd
from zabspec.language.layout.derive import in_order
from zabspec.language.layout.schema import Layout
from zabspec.language.layout.source import from_here
from zabspec.language.symmetry import Asymmetry, Decoder, Trusted, asymmetries
from zabspec.model import Model
from zabspec.worlds import connections, crash_within, step_annotations, storage

DECODERS: Mapping[Any, Decoder] = {
    step_annotations.no_steps: Decoder("begins the list of steps that are possible, which are words"),
    step_annotations.emit: Decoder("puts the processes of a step into its word, each at its place", lists=True),
    step_annotations.emit_alone: Decoder("puts a process into a word that has no other", lists=True),
    step_annotations.emit_which: Decoder(
        "puts a process into a word that has no other, and which of its steps", lists=True
    ),
    step_annotations.emit_inside: Decoder("puts a process into a word, and which of its steps breaks off", lists=True),
    crash_within.emit_inside_with: Decoder(
        "puts two processes into a word, and which of their steps breaks off", lists=True
    ),
    crash_within.peer_inside: Decoder("takes out of a word what `emit_inside_with` put there"),
    step_annotations.emit_nobodys: Decoder("makes a word that has no process", lists=True),
    step_annotations.any_step: Decoder("returns whether a step is listed, not for which process"),
    step_annotations.process_in: Decoder("takes out of a word what `emit` put there"),
    step_annotations.peer_in: Decoder("takes out of a word what `emit` put there"),
    connections.emit_cuts: Decoder("goes through all cuts of the network, which are masks", lists=True),
    connections.cuts: Decoder("applies the same test to each process on either side of a cut"),
    connections.part: Decoder("does the same with each process on either side of a cut"),
    connections.emit_elections: Decoder("goes through all quorums, which are masks", lists=True),
    connections.is_smallest_quorum: Decoder("applies the same test to each process in a quorum, which is a mask"),
    connections.may_elect: Decoder("applies the same test to each process in a quorum"),
    storage.may_fail_electing: Decoder("does the same with each process of an election, which is a mask", lists=True),
    connections.elect: Decoder("does the same with each process in a quorum"),
    masks.is_in: Decoder("takes a member of a quorum, which is a mask"),
    masks.mask_of: Decoder("makes the mask that has one member"),
    masks.anybody: Decoder("names a process where all have the same"),
    masks.any_of_latest: Decoder("names one of several processes where any will do"),
}
# Modules whose functions may call them; generated functions of the refinement check may, too.
CALLERS = (
    "zabspec.worlds.connections", "zabspec.worlds.datagrams", "zabspec.worlds.crash_within", "zabspec.worlds.priority",
    "zabspec.worlds.storage", "zabspec.worlds.outages", "checker.proofs.refine.mapping",
)  # fmt: skip


class Asymmetric(ValueError):
    """A source distinguishes processes, and was to be explored as if it did not; one sentence says where."""


class NotRenamings(NoVerdict):
    """States that were treated as renamings of each other are not: an error of zabcheck, not of the protocol."""


def found_in(model: Model, properties: Iterable[Property], front: FrontEnd | None = None) -> list[Asymmetry]:
    """Return where the source of a model and of the properties distinguishes processes.

    Args:
        front: a front end that has typed nothing yet, and is used again with what is typed here.
    """
    front = front or model.program.front_end(full_namespace(model))
    judged = [name for p in properties for name in (p.holds.__name__, p.witness.__name__)]
    trusted = Trusted(DECODERS, CALLERS, model.generated_files)
    # what the author sets need not be symmetric: its renamings then count as initial states too
    own = model.protocol.text.marked.beginning(model.configuration.named_start[0])
    alike = not own and model.protocol.declared.members is None
    begins = ("initialize",) if alike else ()
    return asymmetries(front, ("enabled", "apply", *begins, *judged), trusted)


def asymmetry(model: Model, properties: Iterable[Property], front: FrontEnd | None = None) -> str:
    """Return a sentence on where a source distinguishes processes; empty if it does not."""
    if model.configuration.nodes == 1:
        return ""
    found = found_in(model, properties, front)
    if not found:
        return ""
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"the protocol distinguishes processes: {from_here(found[0].sentence())}{more}"


def check_language(model: Model, properties: Iterable[Property], front: FrontEnd | None = None) -> None:
    """Type a model and its properties as a compiling engine does, for an engine that runs them as they are.

    Args:
        front: a front end that keeps what is typed here; what it has typed is not typed again.

    Raises:
        LanguageError: something is outside the language, or depends on the order of a bag; with its line.
    """
    front = front or model.program.front_end(full_namespace(model))
    for root in ("initialize", "enabled", "apply", *(f.__name__ for p in properties for f in (p.holds, p.witness))):
        front.function(root)


class Stepped(Protocol):
    """The interface of a compiled model that the symmetry check uses."""

    model: Model
    layout: Layout
    properties: tuple[Property, ...]

    def judge_state(self, state: Any, live: int) -> int:
        """Return which of the properties in a mask a state violates."""

    def witness_state(self, state: Any, want: int) -> int:
        """Return for which of the properties in a mask a state meets the premise."""

    def next_states(self, data: bytes) -> Sequence[tuple[int, bytes]]:
        """Return the steps possible in a state, each with the state after it."""

    def canonical(self, data: bytes) -> tuple[int, bytes]:
        """Return the fingerprint of a state's orbit, and the state that represents it."""

    def rename(self, data: bytes, p: Sequence[int]) -> bytes:
        """Return a state with process i renamed to p[i]."""

    def state(self, data: bytes) -> Any:
        """Return a state in memory that the kernel can read."""


def why_not_symmetric(code: Stepped, walks: int = 16, length: int = 40, seed: int = 19) -> str:
    """Return a sentence on what fails to commute; empty if nothing does.

    Args:
        code: compiled with symmetry.
        walks: random walks from the initial state, each of at most `length` steps; every state of
            a walk is compared with one of its renamings.
    """
    source = random.Random(seed)
    size = code.layout.size
    schema = code.layout.schema
    if not schema.renames:
        return ""
    states = sum(1 << k for k, p in enumerate(code.properties) if p.of != STEP)
    starts = [*code.model.program.starts]
    for _ in range(walks):
        data = source.choice(starts)
        for _ in range(length):
            successors = [after[:size] for _, after in code.next_states(data)]
            if not successors:
                break
            other = code.rename(data, schema.some_renaming(source))
            (h, image), (k, whole) = code.canonical(other), code.canonical(data)
            if h != k or (image != whole and in_order(code.layout, image) != in_order(code.layout, whole)):
                return "a renamed state is not recognised as the same"
            images = sorted(code.canonical(s)[0] for s in successors)
            if sorted(code.canonical(after[:size])[0] for _, after in code.next_states(other)) != images:
                return "the steps of a renamed state are not its renamed steps"
            both = [code.state(data), code.state(other)]
            said = [(code.judge_state(s, states), code.witness_state(s, states)) for s in both]
            if said[0] != said[1]:
                return "a property distinguishes a state from its renaming"
            data = source.choice(successors)
    return ""
