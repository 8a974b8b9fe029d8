"""Define what an induction about a protocol consists of: its clauses, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from invariants import PROPERTIES, properties_of
from invariants.proofs import CASES, CLAUSES, SHAPES
from invariants.proofs.impossible import impossible
from invariants.registry import STEP, TERMINAL, Property
from zabspec.protocols.registry import PROTOCOLS


@dataclass(frozen=True)
class Argument:
    """An induction about a protocol: its clauses, its targets, and the cases into which it is split.

    Attributes:
        clauses: what is asked of every step, and assumed before it.
        targets: the properties that have to follow, or are of steps.
        shapes: the clauses that are enough to show what a step leaves as it was.
        cases: for a message or a kind of step, the fields of the process that acts whose values are asked about one
            by one.
        impossible: for moves and steps of the paper that are known never to be possible the clauses that forbid them.
            None if nobody has listed them: then one that is never possible is reported, with the clauses that forbid
            it.
    """

    clauses: Sequence[Property]
    targets: Sequence[Property]
    shapes: Sequence[Property] = ()
    cases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    impossible: Mapping[str, tuple[str, ...]] | None = None

    @property
    def every(self) -> tuple[Property, ...]:
        """Return all that can be checked of a step."""
        return (*self.clauses, *self.targets)


def of_zab() -> Argument:
    """Return the induction of the proof (docs/how-to/prove-a-protocol.md)."""
    judged = tuple(p for p in PROPERTIES if p.default and p.judges("zab"))
    return Argument(CLAUSES, judged, shapes=SHAPES, cases=CASES, impossible=impossible())


WRITTEN: Mapping[str, Callable[[], Argument]] = {"zab": of_zab}  # by protocol: those written by hand, for FIFO channels


def is_whole(protocol: str) -> bool:
    """Return whether an induction's clauses also cover the paper's network, so that no others are needed."""
    return protocol in WRITTEN


def argument_of(protocol: str) -> Argument | None:
    """Return the induction about a protocol, or None if none has been written.

    Of a protocol that states its properties itself these are clauses beside those that it marks as such: what must
    hold may help to show that it does.
    """
    if protocol in WRITTEN:
        return WRITTEN[protocol]()
    found = PROTOCOLS[protocol]
    own = {c.name for c in found.claims}
    if found.declared.replicas and not own:
        return None
    claimed = [p for p in properties_of(protocol) if p.judges(protocol) and p.of != TERMINAL]
    helping = [p for p in claimed if p.of != STEP and (p.name in own or not own)]
    clauses = (*(p for p in helping if not p.default), *(p for p in helping if p.default))
    return Argument(clauses, tuple(p for p in claimed if p not in helping))
