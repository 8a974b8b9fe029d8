"""What became of a matrix, for those who read it elsewhere: JUnit, SARIF, GitHub's annotations and step summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from checker.ci.findings import Named
from checker.ci.judging import DIFFERS, KNOWN, NEW, NOT_RUN, UNDECIDED, Difference, Outcome
from checker.ci.places import faulty, way_to
from checker.ci.result import HEAD, Result, statement_of
from checker.report.github import annotation, cell, diagram
from checker.report.junit import Case, suite_xml
from checker.report.report import Counterexample
from checker.report.sarif import Finding, Place, Rule, sarif
from checker.report.sources import from_top

__all__ = ["annotation_lines", "as_junit", "as_sarif", "summary"]

# What can be found beside the violation of a property, which is a rule of its own.
RULES = {
    "vanished": "A violation that was expected, or known, is no longer there.",
    "premise lost": "A premise that had to be met is not met: the property is no longer put to the test.",
    "changed": "What was found is not what was expected: another depth, another number of states.",
    "no verdict": "Less was looked at than was asked for.",
}
HELP_OF_PROPERTIES = (
    "The result lies at the rule that the variant or the change touches, or at the handler of the last step; its "
    "related locations are the steps of a shortest run. `zabcheck check --traces DIR` saves the run, `zabcheck export` "
    "shows it, `zabcheck replay` plays it in the simulator. If it is known, put it into the baseline, with a date."
)
HELP_OF_CHECKS = (
    "The result lies at the check in its file. `zabcheck check --only NAME` runs that check alone. Either the protocol "
    "is to be mended, or the check no longer says what is to be expected."
)
LARGEST_SUMMARY = 900_000  # bytes: GitHub takes 1 MiB of a step


def as_junit(result: Result) -> bytes:
    """A test case for each check: a failure where something differs, an error where there is no verdict."""
    outcomes = {DIFFERS: "failure", UNDECIDED: "error", NOT_RUN: "skipped"}
    cases = []
    for o in result.outcomes:
        says = "; ".join([*(d.says for d in o.new), *o.reasons])
        seconds = o.found.seconds if o.found is not None else 0.0
        cases.append(Case(o.check.name, outcomes.get(o.status, ""), says, runs_of(o), seconds))
    return suite_xml(f"zabcheck {result.path}", sum(c.seconds for c in cases), cases, result.sentence)


def runs_of(o: Outcome) -> str:
    """The counterexamples to what differs, as text."""
    return "\n\n".join(c.text for c in (counterexample(o, d) for d in o.new) if c is not None and c.text)


def counterexample(o: Outcome, d: Difference) -> Counterexample | None:
    return o.found.counterexamples.get(d.name) if o.found is not None and d.depth is not None else None


# --- places ----------------------------------------------------------------------------------------


def of_file(result: Result, o: Outcome) -> Place:
    """Where the check is written."""
    return Place(result.path, o.check.line, named=o.check.name)


def places(result: Result, o: Outcome, d: Difference) -> tuple[Place, list[Place]]:
    """Where a difference is, and the run that leads there: of a violation the rule that is to blame, or the handler of
    the last step where none is known; of anything else the check in its file."""
    c = counterexample(o, d)
    if c is None or c.trace is None or not c.trace.steps:
        return of_file(result, o), []
    way = way_to(c.trace)
    return faulty(c.trace, result.changed) or replace(way[-1], says=""), way


# --- SARIF -----------------------------------------------------------------------------------------


def as_sarif(result: Result, root: Path) -> bytes:
    """A finding for each difference; what is let pass is suppressed, with its reason. Rules are the properties that
    were judged, and what else can be found."""
    judged: dict[str, Named] = {}
    for o in result.outcomes:
        judged |= {p.name: p for p in (o.found.properties if o.found is not None else ())}
    rules = [
        Rule(p.name, first_sentence(p.statement), f"{p.statement} ({p.source})", HELP_OF_PROPERTIES)
        for p in judged.values()
    ]
    rules += [Rule(name, says, help=HELP_OF_CHECKS) for name, says in RULES.items()]
    findings = [finding for o in result.outcomes for finding in findings_of(result, o)]
    trouble = [f"{o.check.name}: {reason}" for o in result.of(UNDECIDED) for reason in o.reasons]
    return sarif(findings, rules, root, result.exit_code, trouble)


def findings_of(result: Result, o: Outcome) -> Iterator[Finding]:
    for d in o.differences:
        place, way = places(result, o, d)
        c = counterexample(o, d)
        says = f"{o.check.name}: {d.says}. {c.why if c is not None else ''}".strip()
        rule = d.name if d.what == NEW else d.what
        further = {"check": o.check.name, "expected": o.check.expect.source}
        here = of_file(result, o)
        beside = [replace(here, says="the check")] if place != here else []
        same = f"{o.check.name}/{d.what}/{d.name}"
        yield Finding(rule, "error", says, [place], way, same, d.known, further, beside)
    if o.status == UNDECIDED:
        says = f"{o.check.name}: {'; '.join(o.reasons)}"
        yield Finding("no verdict", "warning", says, [of_file(result, o)], same=f"{o.check.name}/no verdict")


def first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".") + "."


# --- GitHub ----------------------------------------------------------------------------------------


def annotation_lines(result: Result, root: Path) -> list[str]:
    """A line for each difference: an error at the handler, a notice for what is let pass; a warning where there is no
    verdict."""
    out = []
    for o in result.outcomes:
        for d in o.differences:
            c = counterexample(o, d)
            said = [f"{d.says}.", c.why if c is not None else "", d.known and f"(Let pass {d.known}.)"]
            place, way = places(result, o, d)
            where, level = nearest([place, *way[::-1], of_file(result, o)], root), "notice" if d.known else "error"
            title = f"{o.check.name}: {d.what}"
            out.append(annotation(level, title, " ".join(filter(None, said)), where, root))
        if o.status == UNDECIDED:
            says, place = "; ".join(o.reasons), of_file(result, o)
            out.append(annotation("warning", f"{o.check.name}: no verdict", says, place, root))
    return out + [annotation("warning", "baseline", says) for says in result.warnings]


def nearest(where: Sequence[Place], root: Path) -> Place:
    """The first of some places that lies below the root: the handler, if the text is of this repository."""
    below = [p for p in where if p.path is not None and from_top(p.path, root) is not None]
    return (below or list(where))[0]


def summary(result: Result) -> str:
    """The summary of a step, in Markdown: the sentence, the table, and of each new violation why, and its picture."""
    from traces import to_mermaid

    lines = [f"## zabcheck: {cell(result.sentence)}", "", f"| {' | '.join(HEAD)} |"]
    lines += ["|" + "---|" * len(HEAD)]
    lines += [f"| {' | '.join(cell(c) for c in row)} |" for row in result.rows()]
    out = "\n".join(lines) + "\n"
    for o in result.of(DIFFERS, UNDECIDED, KNOWN):
        parts = [f"\n### {cell(o.check.name)}: {o.status}\n\n{cell(statement_of(o.check))}\n"]
        for d in o.differences:
            c = counterexample(o, d)
            parts.append(f"\n- {cell(d.says)}" + (f" (let pass {cell(d.known)})" if d.known else "") + "\n")
            if c is not None and c.why:
                parts.append(f"\n{cell(c.why)}\n")
            if c is not None and c.trace is not None and not d.known:
                parts.append(f"\n{diagram(to_mermaid(c.trace))}")
        parts += [f"\n- {cell(reason)}\n" for reason in o.reasons]
        out += "".join(parts)
    data = out.encode()
    if len(data) <= LARGEST_SUMMARY:
        return out
    return data[:LARGEST_SUMMARY].decode(errors="ignore") + "\n\n(There is more than GitHub takes.)\n"
