"""Add evidence of other kinds to the report of an exploration."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from checker.ending import failed_column
from checker.errors import NoVerdict, RequestError
from checker.proofs.evidence import sources, store
from checker.proofs.requests.clauses import USUAL, ClausesRequest
from checker.proofs.requests.induct import Induct
from checker.proofs.requests.prove import Prove
from checker.proofs.requests.refine import Refine
from checker.report.evidence import (
    COMPUTED,
    INDUCTIVE,
    NOT_COMPUTED,
    PROOF,
    RECORDED,
    REFINEMENT,
    REFINES,
    Evidence,
    Gathered,
)
from checker.report.report import Explored, command_words
from checker.report.result import VIOLATED
from checker.requests.base.model import ModelRequest
from checker.requests.explore import ALL_EVIDENCE, EXPLORED, QUICK_EVIDENCE, Explore

if TYPE_CHECKING:
    from checker.proofs.evidence.computing import Tell
    from checker.requests.base.request import Request
    from invariants.registry import Property
    from zabspec.model import Configuration

NODES, TXNS = 3, 2  # which evidence for zab is about
ZAB = "zab"

# Functions that are called when a process crashes, in a step or between two, and when it recovers.
OF_CRASHES = frozenset({"durable_points", "on_crash", "on_recovery"})


class Interrupted(Exception):
    """Ctrl-C ended a computation."""


@dataclass(frozen=True)
class Applicable:
    """One kind of evidence for a protocol: the request that makes it, and the command of that request.

    Attributes:
        epochs: the largest epoch it is about; 0 if there is none.
        of_text: whether it is about the executable protocol, and not about abstract ZAB alone.
        why_not: why the request says nothing about this protocol, in a sentence; empty if it does.
    """

    kind: str
    request: Request
    command: str
    bounds: str
    nodes: int = 0
    epochs: int = 0
    of_text: bool = True
    why_not: str = ""


def with_evidence(report: Explored, request: Explore, tell: Tell | None = None) -> Explored:
    """Return the report with the available evidence for the protocol that it explored.

    What is recorded or was computed before is shown. Beyond that `--evidence quick` makes the proof, if the protocol is
    known to refine what is proved; `all` computes everything that applies.

    Raises:
        RequestError, NoVerdict: as for the commands that compute.
    """
    if request.evidence == EXPLORED:
        return report
    whole = request.evidence == ALL_EVIDENCE
    none = why_none(report.configuration)
    if none:
        return replace(report, evidence=Gathered(nothing=none if whole else ""))
    asked = asked_of(report.configuration, request)
    if not asked:
        nothing = f"there is no inductive invariant and no proof for {report.configuration.protocol}"
        return replace(report, evidence=Gathered(nothing=nothing if whole else ""))
    if not whole and not speaks_of_itself(report):
        return report
    tell = tell or (lambda _: None)
    try:
        pieces = pieces_of(asked, request, tell)
    except Interrupted:
        pieces = pieces_of(asked, replace(request, evidence=EXPLORED), tell)
    return replace(report, evidence=Gathered(pieces, names_of(report), all_command(report)))


def pieces_of(asked: Sequence[Applicable], request: Explore, tell: Tell) -> list[Evidence]:
    """Return a piece of evidence of each kind; the proof last, since by default it depends on the refinement.

    Raises:
        Interrupted: Ctrl-C ended a computation.
    """
    out: list[Evidence] = []
    for one in sorted(asked, key=lambda one: one.kind == PROOF):
        refined = any(e.kind == REFINEMENT and e.claims.get("") == REFINES for e in out)
        # with a time limit, nothing is begun that could exceed it
        quick = request.evidence == QUICK_EVIDENCE and one.kind == PROOF and refined and request.time_limit is None
        out.append(piece(one, request.evidence == ALL_EVIDENCE or quick, tell))
    return out


def speaks_of_itself(report: Explored) -> bool:
    """Return whether a report shows evidence by default.

    It does for `zab` and its variants, unless a run violates a property, and for a user protocol that marks clauses."""
    from zabspec.protocols.registry import NAMES, PROTOCOLS

    protocol = report.configuration.protocol
    if protocol == ZAB:
        return report.overall != VIOLATED
    return protocol not in NAMES and bool(PROTOCOLS[protocol].claims)


def why_none(c: Configuration) -> str:
    """Return why available evidence for a protocol does not apply to what was explored; empty if it does."""
    if c.quorums:
        return "other evidence is for majorities, so none is shown with --quorums"
    if c.start:
        return "other evidence is for runs from the initial state, so none is shown with --start"
    if c.protocol != ZAB:
        return ""
    if c.network != "fifo":
        return f"other evidence is for the paper's channels, so none is shown for network {c.network}"
    if c.nodes != NODES or c.txns > TXNS:
        at = f"{NODES} nodes and at most {TXNS} transactions"
        return f"other evidence is for {at}, so none is shown for other sizes"
    if c.power_losses or c.outages:
        return "other evidence is without disks, so none is shown where power may be lost"
    if c.partitions or c.max_epoch or c.channel:
        return "other evidence is without partitions, --max-epoch and --channel"
    return ""


def asked_of(c: Configuration, request: Explore) -> list[Applicable]:
    """Return the kinds of evidence that apply to a protocol."""
    from invariants.proofs.argument import argument_of

    if c.protocol == ZAB:
        return of_zab(c.variant)
    argument = argument_of(c.protocol)
    if argument is None or not argument.every:
        return []
    asked = Induct(**vars(request.model))
    words = command_words(request.as_json())
    command = " ".join(["zabcheck", "induct", *(words or [f"--protocol {quote(c.protocol)}"])])
    return [Applicable(INDUCTIVE, asked, command, f"{c.nodes} nodes", c.nodes)]


def of_zab(variant: str) -> list[Applicable]:
    """Return the evidence of `zab`, or of a variant of it, at the sizes that evidence is recorded for."""
    changed = f" --variant {quote(variant)}" if variant else ""
    induct = Induct(ZAB, variant, nodes=NODES, txns=TXNS)
    refine = Refine(variant=variant, nodes=NODES, txns=TXNS)
    at = f"{NODES} nodes, {TXNS} transactions"
    return [
        Applicable(
            INDUCTIVE, induct, f"zabcheck induct{changed} --nodes {NODES} --txns {TXNS}", at, NODES, USUAL["max_epoch"]
        ),
        Applicable(
            REFINEMENT,
            refine,
            f"zabcheck refine{changed} --nodes {NODES} --txns {TXNS}",
            f"{at}, 1 timeout",
            NODES,
            why_not=why_not_refined(refine),
        ),
        Applicable(PROOF, Prove(), "zabcheck prove", "abstract ZAB, any number of nodes", of_text=False),
    ]


def why_not_refined(request: Refine) -> str:
    """Return why a refinement check says nothing about a variant, in a sentence; empty if it does.

    Functions that are called only where a process crashes have no part in a check without crashes.
    """
    from zabspec.protocols.registry import PROTOCOLS

    changed = OF_CRASHES & PROTOCOLS[ZAB].overrides(request.variant).keys()
    if request.budgets.get("crashes") or not changed:
        return ""
    return (
        f"it is checked without crashes, but {request.variant} changes what a crash does ({', '.join(sorted(changed))})"
    )


def piece(asked: Applicable, compute: bool, tell: Tell) -> Evidence:
    """Return a piece of evidence: recorded, computed on this machine before, computed now, or none.

    Raises:
        RequestError, NoVerdict: as for the command that computes.
    """
    from checker.proofs.evidence import computing

    if asked.why_not:
        return Evidence(asked.kind, NOT_COMPUTED, asked.bounds, asked.command, why=asked.why_not, nodes=asked.nodes)
    digest, request = sources.digest(asked.kind), asked.request.as_json()
    found, status = None, RECORDED
    if is_installed_text(asked):
        found = store.recorded(asked.kind, digest, request)
    text = ""
    if found is None and (compute or store.keeps_any()):  # else what the text is makes no difference
        text = text_digest(asked.request) if asked.of_text else ""
        found, status = store.kept(asked.kind, digest, request, text), COMPUTED
    if found is None and compute:
        try:
            found = computing.OF_KIND[asked.kind](asked.request, digest, tell)
        except KeyboardInterrupt:  # the exploration is reported all the same
            raise Interrupted from None
        except Exception as problem:  # also if z3 is installed and cannot be loaded
            known = isinstance(problem, (RequestError, NoVerdict, ImportError))
            why = str(problem) if known else failed_column(problem)
            return Evidence(asked.kind, NOT_COMPUTED, asked.bounds, asked.command, why=why, nodes=asked.nodes)
        if sources.still(asked.kind, digest):
            store.keep(asked.kind, found, text)
    if found is None:
        return Evidence(asked.kind, NOT_COMPUTED, asked.bounds, asked.command, nodes=asked.nodes)
    bounds = found.bounds if is_of_zab(asked) else "; ".join(found.assumptions)
    sizes = asked.nodes, asked.epochs
    return Evidence(asked.kind, status, bounds, asked.command, found.claims, found.digest, found.why, *sizes)


def is_of_zab(asked: Applicable) -> bool:
    """Return whether a request is about `zab`, a variant of it, or abstract ZAB, whose assumptions have short names.

    A user protocol's assumptions may be any (how often a budget that it counts is spent), and are listed with its
    claims.
    """
    return not isinstance(asked.request, ClausesRequest) or asked.request.name == ZAB


def is_installed_text(asked: Applicable) -> bool:
    """Return whether a request's protocol is the one that comes with the package, unchanged, as it is loaded now."""
    if not asked.of_text:
        return True
    if isinstance(asked.request, ModelRequest) and (asked.request.variant or asked.request.name != ZAB):
        return False
    from zabspec.protocols.registry import PROTOCOLS

    file = getattr(PROTOCOLS[ZAB].text.module, "__file__", None)
    return file is not None and Path(file).resolve() == sources.TOP / "zabspec" / "zab.py"


def text_digest(request: Request) -> str:
    """Return a digest of a protocol and its properties as they are loaded, for what is kept on this machine."""
    from invariants import properties_of
    from invariants.binding import full_namespace
    from invariants.proofs.argument import argument_of
    from zabspec.language.layout.cache_key import digest_of, program_digest
    from zabspec.model import Model

    if isinstance(request, Refine):
        c = request.exploration().configuration()
    elif isinstance(request, ClausesRequest):
        c = request.whole_configuration()
    else:
        raise TypeError(f"a request of kind {request.kind} has no protocol")
    model = Model(c)
    program, argument = model.program, argument_of(c.protocol)
    every: tuple[Property, ...] = (*properties_of(c.protocol), *(argument.every if argument else ()))
    return digest_of(
        program_digest(program.layout, full_namespace(model), program.types, program.handlers, program.steps),
        [(p.name, p.of, p.holds, p.witness) for p in every],
        sys.implementation.cache_tag,
    )


def names_of(report: Explored) -> frozenset[str]:
    """Return the properties of a report that claims of their name are about, and that no run violates."""
    from invariants import properties_of

    known = properties_of(report.configuration.protocol)
    broken = report.exploration.violations
    return frozenset(p.name for p in report.listed if p.name not in broken and any(q is p or q == p for q in known))


def all_command(report: Explored) -> str:
    """Return the command that computes all evidence for this exploration; empty if flags cannot express it."""
    words = command_words(report.request)
    if words is None:
        return ""
    depth = [f"--depth {report.limits.depth}"] if report.limits.depth is not None else []
    return " ".join(["zabcheck", *words, *depth, "--evidence all"])
