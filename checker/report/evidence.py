"""Evidence for properties beside an exploration, and how reports show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from checker.report.documents import EvidenceColumns, EvidencePiece

INDUCTIVE, PROOF, REFINEMENT = "inductive", "proof", "refinement"
RECORDED, COMPUTED, NOT_COMPUTED = "recorded", "computed here", "not computed"
PROVED, REFINES, NOT_REFINED = "proved", "refines", "not refined"


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence.

    Attributes:
        kind: `inductive`, z3 showed that every step preserves the clauses; `proof`, of the abstract protocol without
            bounds; or `refinement`, every step of the protocol is one of the abstract protocol.
        status: `recorded` with the package, `computed here`, or `not computed`.
        bounds: within which the claims are made.
        command: the one that computes it.
        claims: by property what is claimed; of a refinement one claim, under no name. Empty if nothing is computed.
        digest: of all that it depends on; empty if nothing is computed.
        why: a sentence beside the claims; empty if there is nothing to add.
        nodes: the number of processes it is about; 0 for any number.
        epochs: the largest epoch it is about; 0 if there is none.
    """

    kind: str
    status: str
    bounds: str
    command: str
    claims: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    why: str = ""
    nodes: int = 0
    epochs: int = 0

    @property
    def known(self) -> bool:
        """Whether there is any evidence: recorded, or computed."""
        return self.status != NOT_COMPUTED

    @property
    def origin(self) -> str:
        """Its bounds and where it comes from, with additions."""
        return f"{self.bounds} ({self.status}){f'; {self.why}' if self.why else ''}"

    def reported(self, **more: str | None) -> EvidencePiece:
        """Return the evidence for a report, without its claims."""
        return EvidencePiece(
            kind=self.kind,
            bounds=self.bounds,
            status=self.status,
            command=self.command,
            digest=self.digest or None,
            **more,
        )


@dataclass(frozen=True)
class Gathered:
    """The evidence beside one exploration.

    Attributes:
        pieces: at most one of each kind.
        properties: the properties of the protocol that the pieces are about: another one may have the same name.
        all_of_it: the command that computes what is not computed; empty if nothing is left to compute.
        nothing: why there is none, in a sentence; empty if there is, or none was requested.
    """

    pieces: Sequence[Evidence] = ()
    properties: frozenset[str] = frozenset()
    all_of_it: str = ""
    nothing: str = ""

    def piece(self, kind: str) -> Evidence | None:
        """Return the piece of a kind that says something, or None."""
        return next((e for e in self.pieces if e.kind == kind and e.known), None)

    @property
    def inductive(self) -> Evidence | None:
        """The evidence of z3 about the steps of this protocol, or None."""
        return self.piece(INDUCTIVE)

    @property
    def refinement(self) -> Evidence | None:
        """The evidence of the refinement check about this protocol, or None."""
        return self.piece(REFINEMENT)

    @property
    def head(self) -> tuple[str, ...]:
        """The columns beside what was explored."""
        abstract = self.refinement is not None and self.piece(PROOF) is not None
        return (*([self.sizes(self.inductive)] if self.inductive else []), *(["any n"] if abstract else []))

    @staticmethod
    def sizes(e: Evidence) -> str:
        """Return the sizes that evidence is about, as the head of its column."""
        return f"at n = {e.nodes}{f', e <= {e.epochs}' if e.epochs else ''}"

    def cells(self, name: str) -> tuple[str, ...]:
        """Return the columns' claims about a property; empty text for none."""
        if name not in self.properties:
            return ("",) * len(self.head)
        out = [self.inductive.claims.get(name, "")] if self.inductive else []
        return (*out, *([self.abstract(name)] if "any n" in self.head else []))

    def abstract(self, name: str) -> str:
        """Return the proof's claim about a property: none, unless the protocol refines the proved one."""
        proof, refinement = self.piece(PROOF), self.refinement
        claim = proof.claims.get(name, "") if proof else ""
        if refinement is None or refinement.claims.get("") != REFINES:
            return NOT_REFINED if claim else ""
        return claim

    def said_of(self, name: str) -> dict[str, str]:
        """Return the columns' claims about a property, each with its origin."""
        origin = [self.inductive.origin] if self.inductive else []
        origin += [self.abstract_origin] if "any n" in self.head else []
        cells = zip(self.head, self.cells(name), origin, strict=True)
        return {column: f"{cell}: {where}" for column, cell, where in cells if cell}

    @property
    def abstract_origin(self) -> str:
        """What is proved of abstract ZAB, and whether this protocol refines it; empty if nothing is known."""
        if self.refinement is None:
            return ""
        proof, claim = self.piece(PROOF), self.refinement.claims.get("", "")
        found = "this protocol refines it" if claim == REFINES else f"this text {claim}"
        if proof is None:
            said = "abstract ZAB is not proved here (zabcheck prove)"
        else:
            held = "proved by z3" if PROVED in proof.claims.values() else "not proved by z3"
            said = f"{proof.bounds}, {held} ({proof.status})"
        return f"{said}; {found} at {self.refinement.origin}"

    def legend(self) -> list[str]:
        """Return the meaning of the columns, what is not computed, and the command that computes it."""
        out = []
        if self.inductive:
            what = "inductive: it follows from clauses that every step keeps, so it holds at any depth (z3)"
            out.append(f"{self.sizes(self.inductive)}: {what}; {self.inductive.origin}")
        if self.refinement:
            out.append(f"any n: {self.abstract_origin}")
        left = [e for e in self.pieces if not e.known and not e.why and e.kind in LEFT]
        refused = [e for e in self.pieces if not e.known and e.why and e.kind in LEFT]
        if left:
            kinds = " and ".join(LEFT[e.kind] for e in left)
            by = self.all_of_it or " && ".join(e.command for e in left)
            out.append(f"not computed for this protocol: {kinds}; computed by: {by}")
        out += [f"not computed for this protocol: {LEFT[e.kind]}: {e.why}" for e in refused]
        return [*out, *([self.nothing] if self.nothing else [])]

    def of_property(self, name: str) -> list[EvidencePiece]:
        """Return each piece's claim about a property; null if it makes none."""
        spoken = name in self.properties
        return [
            e.reported(claim=e.claims.get("" if e.kind == REFINEMENT else name) if spoken else None)
            for e in self.pieces
        ]

    def columns(self, names: Iterable[str]) -> EvidenceColumns:
        """Return the columns beside each property, and the pieces."""
        cells = {name: list(self.cells(name)) for name in names}
        return EvidenceColumns(
            list(self.head), cells, self.legend(), [e.reported(why=e.why or None) for e in self.pieces]
        )


LEFT = {
    INDUCTIVE: "whether its clauses are inductive",
    REFINEMENT: "whether it refines abstract ZAB, the protocol of the proof for any number of nodes",
}
