"""The report as a JUnit file: one test case for each property, as continuous integration reads it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from checker.report import NO_VERDICT, NOT_REACHED, VIOLATED, Report

__all__ = ["junit_xml"]

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, 2.2


def junit_xml(report: Report) -> bytes:
    """The document. A violation is a failure with its trace; a premise that was not reached, and
    a property left unjudged because another broke first, are skipped; one without a verdict
    because the run was cut short, or a premise that had to be reached, is an error, so that it
    does not look like a success."""
    properties = report.exploration.properties
    name = f"zabcheck {report.bounds}"
    root = ElementTree.Element("testsuites", name="zabcheck")
    suite = ElementTree.SubElement(root, "testsuite", name=name, time=f"{report.exploration.seconds:.3f}")
    counts = {"failure": 0, "error": 0, "skipped": 0}
    for p in properties:
        case = ElementTree.SubElement(suite, "testcase", classname="zabcheck", name=p.name, time="0")
        verdict, words = report.verdict(p), report.verdict_in_words(p)
        if verdict == VIOLATED:
            outcome, message = "failure", f"{words}: {p.statement}"
        elif verdict == NOT_REACHED:
            outcome, message = "error" if p.name in report.unmet else "skipped", f"{words}: {p.premise}"
        elif verdict == NO_VERDICT:
            ended = not report.cut_short and p.name not in report.exploration.violations
            outcome, message = ("skipped" if ended else "error"), f"{words}; {report.sentence}"
        else:
            continue
        counts[outcome] += 1
        element = ElementTree.SubElement(case, outcome, message=clean(" ".join(message.split())))
        if p.name in report.counterexamples:
            element.text = clean(report.counterexamples[p.name].text)
    totals = {"tests": len(properties), "failures": counts["failure"], "errors": counts["error"]}
    for element in (root, suite):
        for key, count in totals.items():
            element.set(key, str(count))
    suite.set("skipped", str(counts["skipped"]))
    output = ElementTree.SubElement(suite, "system-out")
    output.text = clean(report.sentence)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def clean(text: str) -> str:
    """The text without what XML cannot hold."""
    return FORBIDDEN.sub("?", text)
