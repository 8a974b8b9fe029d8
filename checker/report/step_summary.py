"""Write the summary of a step of GitHub Actions: the outcomes of a matrix, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from checker.ci.judging import DIFFERS, HEAD, UNDECIDED, CheckOutcome, counterexample, statement_of
from checker.report.formats.github import cell, diagram

LARGEST_SUMMARY = 900_000  # bytes: GitHub takes 1 MiB of a step


def summary(sentence: str, rows: Sequence[Sequence[str]], outcomes: Sequence[CheckOutcome]) -> str:
    """Return the summary in Markdown: the sentence, the table, and for each new violation why, with its picture."""
    from traces import to_mermaid

    lines = [f"## zabcheck: {cell(sentence)}", "", f"| {' | '.join(HEAD)} |"]
    lines += ["|" + "---|" * len(HEAD)]
    lines += [f"| {' | '.join(cell(c) for c in row)} |" for row in rows]
    out = "\n".join(lines) + "\n"
    for o in (o for o in outcomes if o.status in (DIFFERS, UNDECIDED)):
        parts = [f"\n### {cell(o.check.name)}: {o.status}\n\n{cell(statement_of(o.check))}\n"]
        for d in o.differences:
            c = counterexample(o, d)
            parts.append(f"\n- {cell(d.says)}\n")
            if c is not None and c.why:
                parts.append(f"\n{cell(c.why)}\n")
            if c is not None and c.trace is not None:
                parts.append(f"\n{diagram(to_mermaid(c.trace))}")
        parts += [f"\n- {cell(reason)}\n" for reason in o.reasons]
        out += "".join(parts)
    data = out.encode()
    if len(data) <= LARGEST_SUMMARY:
        return out
    return data[:LARGEST_SUMMARY].decode(errors="ignore") + "\n\n(The rest is longer than GitHub accepts.)\n"
