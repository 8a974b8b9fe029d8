"""Write JUnit files for continuous integration: a test case for each verdict."""

from __future__ import annotations

from checker.report.formats.format import Format
from checker.report.result import ERROR, FAILURE, SKIPPED, Result, Verdict


def junit_xml(result: Result) -> bytes:
    """Return the document.

    A violation is a failure with its trace; a missing verdict because the run was cut short is an error, so that it
    does not look like a success. Where no case ends so and the exit code is not 0, one more does, since a host passes a
    file whose cases are passed or skipped.
    """
    from xml.etree import ElementTree

    cases, seconds = list(result.said()), result.seconds
    if result.exit_code and not {FAILURE, ERROR} & {c.ends for c in cases}:
        cases.append(Verdict("exit code", "no verdict", ends=ERROR, message=result.sentence))
    root = ElementTree.Element("testsuites", name=result.suites)
    suite = ElementTree.SubElement(root, "testsuite", name=clean(result.title))
    if seconds is not None:
        suite.set("time", f"{seconds:.3f}")
    for c in cases:
        spent = f"{c.seconds:.3f}" if c.seconds else "0"
        case = ElementTree.SubElement(suite, "testcase", classname=clean(c.group), name=clean(c.name), time=spent)
        if c.evidence:
            beside = ElementTree.SubElement(case, "properties")
            for column, said in c.evidence.items():
                ElementTree.SubElement(beside, "property", name=clean(column), value=clean(said))
        if c.ends:
            element = ElementTree.SubElement(case, c.ends, message=clean(" ".join(c.message.split())))
            element.text = clean(c.text) or None
    ends = [c.ends for c in cases]
    counts = {"tests": len(cases), "failures": ends.count(FAILURE), "errors": ends.count(ERROR)}
    skipped = {"skipped": ends.count(SKIPPED)}
    for element, totals in ((root, counts | (skipped if seconds is None else {})), (suite, counts | skipped)):
        for key, count in totals.items():
            element.set(key, str(count))
    ElementTree.SubElement(suite, "system-out").text = clean(result.sentence)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def clean(text: str) -> str:
    """Return the text without characters that XML excludes."""
    from traces.pages.markup import FORBIDDEN

    return FORBIDDEN.sub("?", text)


FORMAT = Format("junit", "Also write a JUnit report.", junit_xml, ("explore", "check", "gallery", "audit"))
