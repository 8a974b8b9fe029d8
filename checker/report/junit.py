"""JUnit files, as continuous integration reads them: of an exploration a test case for each property."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from checker.report.report import NO_VERDICT, NOT_REACHED, VIOLATED, Report
from invariants.registry import Property
from traces.pictures.markup import FORBIDDEN

__all__ = ["Case", "junit_xml", "suite_xml"]


@dataclass(frozen=True)
class Case:
    """A test case.

    Attributes:
        name: it.
        outcome: `failure`, `error` or `skipped`; empty: it passed.
        message: why.
        text: what else there is to read of it.
        seconds: how long it took.
    """

    name: str
    outcome: str = ""
    message: str = ""
    text: str = ""
    seconds: float = 0.0


def junit_xml(report: Report) -> bytes:
    """The document of an exploration. A violation is a failure with its trace; a premise that was not reached, and
    a property left unjudged because another broke first, are skipped; one without a verdict
    because the run was cut short, a premise that had to be reached, or any where nothing was put to the
    test, is an error, so that it does not look like a success."""
    cases = [case_of(report, p) for p in report.listed]
    return suite_xml(f"zabcheck {report.bounds}", report.exploration.seconds, cases, report.sentence)


def case_of(report: Report, p: Property) -> Case:
    verdict, words = report.verdict(p), report.verdict_in_words(p)
    if verdict == VIOLATED:
        outcome, message = "failure", f"{words}: {p.statement}"
    elif verdict == NOT_REACHED:
        lacking = p.name in report.unmet or report.overall == NOT_REACHED
        outcome, message = "error" if lacking else "skipped", f"{words}: {p.premise}"
    elif verdict == NO_VERDICT:
        ended = not report.cut_short and p.name not in report.exploration.violations
        outcome, message = ("skipped" if ended else "error"), f"{words}; {report.sentence}"
    else:
        return Case(p.name)
    shown = report.counterexamples.get(p.name)
    return Case(p.name, outcome, message, shown.text if shown is not None else "")


def suite_xml(name: str, seconds: float, cases: Sequence[Case], said: str) -> bytes:
    """One suite of test cases, as a document.

    Args:
        said: what became of all of it, in a sentence.
    """
    root = ElementTree.Element("testsuites", name="zabcheck")
    suite = ElementTree.SubElement(root, "testsuite", name=clean(name), time=f"{seconds:.3f}")
    for c in cases:
        spent = f"{c.seconds:.3f}" if c.seconds else "0"
        case = ElementTree.SubElement(suite, "testcase", classname="zabcheck", name=clean(c.name), time=spent)
        if c.outcome:
            element = ElementTree.SubElement(case, c.outcome, message=clean(" ".join(c.message.split())))
            element.text = clean(c.text) or None
    outcomes = [c.outcome for c in cases]
    totals = {"tests": len(cases), "failures": outcomes.count("failure"), "errors": outcomes.count("error")}
    for element in (root, suite):
        for key, count in totals.items():
            element.set(key, str(count))
    suite.set("skipped", str(outcomes.count("skipped")))
    output = ElementTree.SubElement(suite, "system-out")
    output.text = clean(said)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def clean(text: str) -> str:
    """The text without what XML cannot hold."""
    return FORBIDDEN.sub("?", text)
