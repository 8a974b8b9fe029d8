"""Evidence for properties beside an exploration: what it is, and how reports show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "COMPUTED", "INDUCTIVE", "NOT_COMPUTED", "PROOF", "PROVED", "RECORDED", "REFINEMENT", "REFINES", "Evidence",
    "Gathered",
]  # fmt: skip

INDUCTIVE, PROOF, REFINEMENT = "inductive", "proof", "refinement"
RECORDED, COMPUTED, NOT_COMPUTED = "recorded", "computed here", "not computed"
PROVED, REFINES, NOT_REFINED = "proved", "refines", "not refined"


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence.

    Attributes:
        kind: `inductive`, z3 kept the clauses in every step; `proof`, of the abstract protocol without bounds; or
            `refinement`, every step of the text is one of the abstract protocol.
        status: `recorded` with the package, `computed here`, or `not computed`.
        bounds: within which the claims are made.
        command: what computes it.
        claims: by property what is claimed; of a refinement one claim, under no name. Empty: nothing is computed.
        digest: of all that it depends on; empty: nothing is computed.
        why: a sentence beside the claims; empty: there is nothing to add.
        nodes: how many processes it is about; 0: any number.
    """

    kind: str
    status: str
    bounds: str
    command: str
    claims: Mapping[str, str] = field(default_factory=dict)
    digest: str = ""
    why: str = ""
    nodes: int = 0

    @property
    def known(self) -> bool:
        """Whether it says anything: it is recorded, or was computed."""
        return self.status != NOT_COMPUTED

    @property
    def origin(self) -> str:
        """Its bounds and where it comes from, with what is to be added."""
        return f"{self.bounds} ({self.status}){f'; {self.why}' if self.why else ''}"

    def as_json(self) -> dict[str, Any]:
        """Return it for machines, without its claims."""
        return {
            "kind": self.kind,
            "bounds": self.bounds,
            "status": self.status,
            "command": self.command,
            "digest": self.digest or None,
        }


@dataclass(frozen=True)
class Gathered:
    """The evidence beside one exploration.

    Attributes:
        pieces: at most one of each kind.
        properties: the properties of the protocol that the pieces speak about: another one may have the same name.
        all_of_it: the command that computes what is not computed; empty: nothing is left to compute.
        nothing: why there is none, in a sentence; empty: there is, or nobody asked.
    """

    pieces: Sequence[Evidence] = ()
    properties: frozenset[str] = frozenset()
    all_of_it: str = ""
    nothing: str = ""

    def piece(self, kind: str) -> Evidence | None:
        """Return the piece of a kind that says something; None: there is none."""
        return next((e for e in self.pieces if e.kind == kind and e.known), None)

    @property
    def inductive(self) -> Evidence | None:
        """What z3 says of the steps of this text; None: nothing is known."""
        return self.piece(INDUCTIVE)

    @property
    def refinement(self) -> Evidence | None:
        """What the refinement check says of this text; None: nothing is known."""
        return self.piece(REFINEMENT)

    @property
    def head(self) -> tuple[str, ...]:
        """The columns beside what was explored."""
        abstract = self.refinement is not None and self.piece(PROOF) is not None
        return (*([f"at n = {self.inductive.nodes}"] if self.inductive else []), *(["any n"] if abstract else []))

    def cells(self, name: str) -> tuple[str, ...]:
        """Return what the columns say of a property; empty text: nothing."""
        if name not in self.properties:
            return ("",) * len(self.head)
        out = [self.inductive.claims.get(name, "")] if self.inductive else []
        return (*out, *([self.abstract(name)] if "any n" in self.head else []))

    def abstract(self, name: str) -> str:
        """Return what the proof says of a property of this text: nothing, unless the text refines what is proved."""
        proof, refinement = self.piece(PROOF), self.refinement
        claim = proof.claims.get(name, "") if proof else ""
        if refinement is None or refinement.claims.get("") != REFINES:
            return NOT_REFINED if claim else ""
        return claim

    def said_of(self, name: str) -> dict[str, str]:
        """Return what the columns say of a property, each with where that comes from."""
        origin = [self.inductive.origin] if self.inductive else []
        origin += [self.abstract_origin] if "any n" in self.head else []
        cells = zip(self.head, self.cells(name), origin, strict=True)
        return {column: f"{cell}: {where}" for column, cell, where in cells if cell}

    @property
    def abstract_origin(self) -> str:
        """What is proved of abstract ZAB, and whether this protocol refines it; empty: neither is known."""
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
        """Return what the columns mean, what is not computed, and what computes it."""
        out = []
        if self.inductive:
            what = "inductive: it follows from clauses that every step keeps, so it holds at any depth (z3)"
            out.append(f"at n = {self.inductive.nodes}: {what}; {self.inductive.origin}")
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

    def of_property(self, name: str) -> list[dict[str, Any]]:
        """Return what each piece says of a property, for machines; a claim is null where it says nothing of it."""
        spoken = name in self.properties
        return [
            e.as_json() | {"claim": e.claims.get("" if e.kind == REFINEMENT else name) if spoken else None}
            for e in self.pieces
        ]

    def as_json(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the columns beside each property, and the pieces, for machines."""
        return {
            "columns": list(self.head),
            "cells": {name: list(self.cells(name)) for name in names},
            "legend": self.legend(),
            "pieces": [e.as_json() | {"why": e.why or None} for e in self.pieces],
        }


LEFT = {
    INDUCTIVE: "whether its clauses are inductive",
    REFINEMENT: "whether it refines abstract ZAB, the protocol of the proof for any number of nodes",
}
