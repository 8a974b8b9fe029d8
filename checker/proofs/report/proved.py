"""Report a proof without bounds, or a mutant that breaks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checker.errors import HELD, NO_VERDICT, VIOLATED
from checker.report.answer import StatedAnswer
from checker.report.result import plural
from zabspec.quorums import named

if TYPE_CHECKING:
    from checker.proofs.prove.break_it import BrokenMutant
    from checker.proofs.prove.prove import Proof
    from zabspec.quorums import QuorumSystem


@dataclass(frozen=True)
class Instance:
    """A quorum system, to compare with the only assumption of the proof: that any two quorums intersect.

    Attributes:
        system: of a model.
    """

    system: QuorumSystem

    @property
    def disjoint(self) -> tuple[str, str] | None:
        """Two quorums that do not intersect, or None if every two do."""
        found = self.system.disjoint
        return found and (named(found[0]), named(found[1]))

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return {
            "text": self.system.text,
            "processes": self.system.nodes,
            "quorums": len(list(self.system.quorums)),
            "intersect": self.disjoint is None,
            "disjoint": list(self.disjoint or ()),
        }


@dataclass(frozen=True, repr=False)
class Proved(StatedAnswer):
    """The answer of the proof of abstract ZAB, or of the search for a run that breaks a mutant of it.

    Attributes:
        found: one proof for each seed; for a mutant, the run that violates a property.
    """

    found: Sequence[Proof] | BrokenMutant = ()
    kind: str = "prove"


def proved_result(request: Mapping[str, Any], proofs: Sequence[Proof], found: Instance | None) -> Proved:
    """Return the result of the proofs.

    Args:
        request: the one that they answer, as JSON.
        found: the quorum system to prove it for; None if the request names none.
    """
    from checker.proofs.prove.prove import parts
    from traces.explain.folding import fitted

    held = all(p.held for p in proofs)
    code = HELD if held else NO_VERDICT
    content: dict[str, Any] = {"request": dict(request), "proofs": [p.as_json() for p in proofs]}
    sentence = f"{sum(p.held for p in proofs)} of {plural(len(proofs), 'proof')} held"
    said: list[str] = []
    if found is not None:
        content["quorums"] = found.as_json()
        said = [of_system(found, held)]
        if found.disjoint:
            code, sentence = VIOLATED, said[0]
    told = [part for p in proofs for part in parts(p)]
    return Proved(sentence, code, content, [*(fitted(each) for each in said), *told], found=proofs)


def of_system(found: Instance, held: bool) -> str:
    """Return what the proof shows for a quorum system."""
    system = found.system
    whose = f"`{system.text}` ({plural(system.nodes, 'process')})"
    if found.disjoint:
        one, other = found.disjoint
        return (
            f"NOT PROVED of {whose}: {one} and {other} are quorums and do not intersect, as the proof assumes of any "
            f"two. The rest is about systems whose quorums intersect"
        )
    count = len(list(system.quorums))
    if not held:
        return f"not proved of {whose}, though any two of its {plural(count, 'quorum')} intersect: see below"
    return (
        f"proved of {whose}: any two of its {plural(count, 'quorum')} intersect, which is all that the proof below "
        f"assumes of quorums; so abstract ZAB with these keeps its properties, after any number of crashes, epochs "
        f"and transactions. Not proved: that the executable zab takes only such steps; `zabcheck refine --quorums "
        f"'{system.text}'` checks this within its budgets"
    )


def broken_result(request: Mapping[str, Any], found: BrokenMutant) -> Proved:
    """Return the result for a mutant."""
    from checker.proofs.prove.break_it import text
    from traces.explain.folding import fitted

    content = {"request": dict(request)} | found.as_json()
    sentence = f"{found.mutant.name} is not proved, and no violation was found"
    sentence = f"VIOLATED: {', '.join(found.run.broken)}" if found.run else sentence
    code = VIOLATED if found.run else NO_VERDICT
    troubles = [] if found.run else [sentence]
    return Proved(sentence, code, content, [fitted(text(found))], troubles, found=found)
