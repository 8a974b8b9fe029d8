"""Write findings as SARIF 2.1.0, the format in which analysers report their findings to code hosts and editors.

The numbers of sections below are those of the OASIS standard "Static Analysis Results Interchange Format (SARIF)
Version 2.1.0".
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

from checker.errors import NO_VERDICT
from checker.report.formats.format import Format
from checker.report.result import ReportFinding, ReportPlace, Result, Rule, installed_version
from checker.report.sources import from_top

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"  # the name that code hosts use for the top of the repository
LEVELS = ("error", "warning", "note")
MARKDOWN = re.compile(r"[\\`*_{}\[\]<>#|~]")  # what Markdown would read as anything but itself
SURROGATES = re.compile("[\ud800-\udfff]")


def as_sarif(result: Result) -> bytes:
    """Return the document of a result."""
    return sarif(result.findings, result.rules, result.root, result.exit_code, result.unanswered)


def sarif(
    findings: Sequence[ReportFinding], rules: Sequence[Rule], root: Path, code: int, trouble: Sequence[str] = ()
) -> bytes:
    """Return the document: one run of zabcheck.

    Args:
        findings: in the order in which they are to be read.
        rules: every rule that was checked, violated or not.
        root: the top of the sources: files below it are named from there, all others by their whole path.
        code: the exit code of the command.
        trouble: why there is no answer to something, a sentence each (3.20.21).

    Raises:
        ValueError: a finding has an unknown rule or level.
    """
    places = {rule.name: k for k, rule in enumerate(rules)}
    for finding in findings:
        if finding.rule not in places or finding.level not in LEVELS:
            raise ValueError(f"there is no rule {finding.rule!r} or no level {finding.level!r}")
    notes = [{"level": "error", "message": message(sentence)} for sentence in trouble]
    version = installed_version()
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "zabcheck", "version": version, "semanticVersion": version,
                "rules": [described(rule) for rule in rules],
            }
        },
        "invocations": [
            {
                "executionSuccessful": not trouble and code < NO_VERDICT, "exitCode": code,
                "toolExecutionNotifications": notes,
            }
        ],
        "columnKind": "utf16CodeUnits",
        "results": [result(finding, places[finding.rule], root) for finding in findings],
    }  # fmt: skip
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=1).encode() + b"\n"


def described(rule: Rule) -> dict[str, Any]:
    out: dict[str, Any] = {"id": rule.name, "shortDescription": {"text": readable(rule.summary)}}
    if rule.statement:
        out["fullDescription"] = {"text": readable(rule.statement)}
    advice = readable("\n\n".join(filter(None, (rule.statement or rule.summary, rule.help))))
    out["help"] = {"text": advice, "markdown": MARKDOWN.sub(r"\\\g<0>", advice)}
    return out


def result(finding: ReportFinding, rule: int, root: Path) -> dict[str, Any]:
    out: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule,
        "level": finding.level,
        "message": message(f"{finding.of}: {finding.says}" if finding.of else finding.says),
    }
    if finding.places:
        out["locations"] = [location(place, root) for place in finding.places]
    if related := [*finding.related, *finding.steps]:
        out["relatedLocations"] = [{"id": k, **location(place, root)} for k, place in enumerate(related, 1)]
    if finding.steps:
        flow = [{"location": location(place, root), "executionOrder": k} for k, place in enumerate(finding.steps)]
        out["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    if finding.same:
        out["partialFingerprints"] = {"zabcheck/v1": readable(finding.same)}
    if finding.further:
        out["properties"] = dict(finding.further)
    return out


def location(place: ReportPlace, root: Path) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if place.path is not None:
        physical: dict[str, Any] = {"artifactLocation": artifact(place.path, root)}
        if place.offset is not None:
            length = {"byteLength": place.length} if place.length else {}
            physical["region"] = {"byteOffset": place.offset, **length}
        elif place.line:
            physical["region"] = {"startLine": place.line}
        out["physicalLocation"] = physical
    if place.named:
        out["logicalLocations"] = [{"fullyQualifiedName": readable(place.named)}]
    if place.says:
        out["message"] = message(place.says)
    return out


def artifact(path: Path, root: Path) -> dict[str, str]:
    """Return the location of a file: relative to the top of the sources if it is below it; else its absolute path."""
    inside = from_top(path, root)
    if inside is not None:
        return {"uri": quote_from_bytes(os.fsencode(inside)), "uriBaseId": ROOT}
    return {"uri": Path(os.path.abspath(path)).as_uri()}


def message(text: str) -> dict[str, str]:
    """Return a literal text message: braces would be placeholders (3.11.5), and `[a](b)` a link (3.11.6)."""
    said = readable(text).replace("{", "{{").replace("}", "}}")
    return {"text": re.sub(r"([\[\]\\])", r"\\\1", said) if "](" in said else said}


def readable(text: str) -> str:
    """Return the text without surrogates, which no encoding has; never empty, which the format does not allow."""
    return SURROGATES.sub("\ufffd", text) or "-"


FORMAT = Format("sarif", "Also write the findings as SARIF 2.1.0.", as_sarif, ("check", "gallery", "audit", "lint"))
