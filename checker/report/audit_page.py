"""An audit as one page of HTML: nothing is loaded from elsewhere, and nothing of the data can become markup."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from checker.ending import plain
from traces.zookeeper.audit import Audit
from traces.zookeeper.codes import CODES
from traces.zookeeper.decode import zxid_text
from traces.zookeeper.findings import GRAVE, NOTE, Finding
from traces.zookeeper.server import Server

__all__ = ["as_html"]

WIDE, ROW, LEFT = 1000, 54, 110
EPOCHS = ("#7fa7c9", "#a9c47f", "#d9b36c", "#b59ac9", "#83c4bd", "#c98f8f")
STYLE = """
body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1160px;padding:0 1em;color:#1a1a1a;background:#fff}
h1{font-size:1.3em}h2{font-size:1.1em;margin-top:2em}.VIOLATION{color:#a3161a}.WARN{color:#8a5a00}.DANGER{color:#a3161a}.OK{color:#1c6b2a}
.UNKNOWN{color:#555}
article{border-left:4px solid #ccc;padding:.2em 1em;margin:1em 0}
article.VIOLATION{border-color:#a3161a;color:inherit}
article.DANGER{border-color:#d2601a;color:inherit}
article.WARN{border-color:#c98a00;color:inherit}
pre{white-space:pre-wrap;background:#f5f5f5;padding:.6em;overflow-wrap:anywhere}
dt{font-weight:600}dd{margin:0 0 .4em 1em}svg text{font:12px system-ui,sans-serif}svg{max-width:100%;height:auto}
"""


def text(value: object) -> str:
    return escape(plain(str(value)))


def as_html(
    audit: Audit, sentence: str, first: str, starts: list[str], words: Callable[[str, Any], list[str]],
    ahead: list[str], runs: list[tuple[str, list[str]]],
) -> str:  # fmt: skip
    """The page.

    Args:
        sentence, first, starts, ahead: as in the text: counts, whether data is in danger, what starts, what can happen.
        words: puts evidence into words.
        runs: of what can happen who was started, and the steps.
    """
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>zabcheck audit</title>",
        f"<style>{STYLE}</style><h1 class={audit.verdict}>{text(first)}</h1><p>{text(sentence)}",
        "<h2>Servers</h2>", timeline(audit),
        "<p>Bars are runs of transactions without a gap, coloured by epoch; light bars are proposals below a later "
        "snapshot. Diamonds are snapshots, triangles findings.</p>",
    ]  # fmt: skip
    parts.append(f"<h2>What starts</h2><pre>{text(chr(10).join(starts))}</pre>")
    if ahead:
        parts.append(f"<h2>What can happen next</h2><pre>{text(chr(10).join(ahead))}</pre>")
    for started, steps in runs:
        listed = "".join(f"<li>{text(said)}" for said in steps)
        parts.append(f"<details><summary>The run of {text(started)}, {len(steps)} steps</summary><ol>{listed}</ol>")
        parts.append("</details>")
    for f in audit.told(*GRAVE):
        parts.append(article(f, words))
    notes = audit.told(NOTE)
    if notes:
        parts.append("<h2>Notes: odd, and legitimate</h2><ul>")
        parts += [f"<li><b>{text(f.code)}</b> {text(f.place)}: {text(f.sentence)}" for f in notes]
        parts.append("</ul>")
    parts.append(f"<h2>Cannot be concluded</h2><p>Quorums: {text(audit.quorums)}.<ul>")
    parts += [f"<li>{text(said)}" for said in audit.open]
    parts.append("</ul></html>\n")
    return "\n".join(parts)


def article(f: Finding, words: Callable[[str, Any], list[str]]) -> str:
    row = CODES[f.code]
    said = [f"<article class={f.severity}><h3>{text(f.severity)} {text(f.code)}: {text(f.place)}</h3>"]
    said.append(f"<p>{text(f.sentence)}<p>{text(row.what)}.<dl>")
    said += [f"<dt>{name.capitalize()}<dd>{text(value)}" for name, value in row.advice(f.advice)]
    said.append("</dl>")
    if f.evidence:
        lines = [line for name, value in f.evidence.items() for line in words(name, value)]
        said.append(f"<pre>{text(chr(10).join(lines))}</pre>")
    said.append("</article>")
    return "\n".join(said)


class Scale:
    """Places of zxids from left to right: epochs one behind the other, each as wide as it has transactions."""

    def __init__(self, audit: Audit) -> None:
        most: dict[int, int] = {}
        for s in audit.servers:
            for zxid in [*(r.hi for r in s.runs), *(x.zxid for x in s.snapshots if x.usable)]:
                if zxid > 0:
                    most[zxid >> 32] = max(most.get(zxid >> 32, 0), zxid & 0xFFFFFFFF)
        self.starts: dict[int, float] = {}
        total = sum(n + 1 for n in most.values()) or 1
        gap = 6.0
        wide = WIDE - LEFT - 20 - gap * len(most)
        self.per, at = wide / total, float(LEFT)
        for epoch in sorted(most):
            self.starts[epoch] = at
            at += (most[epoch] + 1) * self.per + gap

    def at(self, zxid: int) -> float:
        start = self.starts.get(zxid >> 32)
        if start is None:
            later = [x for e, x in self.starts.items() if e > zxid >> 32]
            return min(later, default=float(WIDE - 20)) - 3
        return start + (zxid & 0xFFFFFFFF) * self.per


def timeline(audit: Audit) -> str:
    """A row for each server."""
    scale = Scale(audit)
    tall = ROW * len(audit.servers) + 30
    out = [f'<svg viewBox="0 0 {WIDE} {tall}" role="img" aria-label="A timeline of each server">']
    for epoch, x in scale.starts.items():
        out.append(
            f'<text x="{x:.1f}" y="14">epoch {epoch}</text>'
            f'<line x1="{x - 3:.1f}" x2="{x - 3:.1f}" y1="4" y2="{tall}" stroke="#ddd"/>'
        )
    for n, s in enumerate(audit.servers):
        out += row_of(s, audit, scale, 30 + n * ROW)
    out.append("</svg>")
    return "".join(out)


def row_of(s: Server, audit: Audit, scale: Scale, y: int) -> list[str]:
    out = [f'<text x="4" y="{y + 20}">{text(s.name[:16])}</text>']
    abandoned = [(f.zxid, f.last) for f in audit.findings if f.code == "ABANDONED" and f.server == s.name]
    for lo, hi in sorted(s.seen):
        parts = [(lo, hi, False)]
        for a, b in abandoned:
            if lo <= a <= hi:
                parts = [(lo, a - 1, False)] * (a > lo) + [(a, min(b, hi), True)]
        for start, end, light in parts:
            x, wide = scale.at(start), max(1.5, scale.at(end) - scale.at(start) + scale.per)
            look = 'opacity="0.35" stroke="#444" stroke-dasharray="2"' if light else ""
            said = f"{zxid_text(start)} to {zxid_text(end)}{', abandoned' if light else ''}"
            out.append(
                f'<rect x="{x:.1f}" y="{y + 8}" width="{wide:.1f}" height="16" '
                f'fill="{EPOCHS[(start >> 32) % len(EPOCHS)]}" {look}><title>{said}</title></rect>'
            )
    for snapshot in s.snapshots:
        x = scale.at(snapshot.zxid)
        fill = "#333" if snapshot.usable else "#fff"
        out.append(
            f'<path d="M{x:.1f} {y + 28} l4 5 l-4 5 l-4 -5z" fill="{fill}" stroke="#333">'
            f"<title>{text(snapshot.name)} {text(snapshot.state)}</title></path>"
        )
    for run in s.runs:
        if run.link in ("bridged", "gap", "again", "back", "unknown", "damaged"):
            x = scale.at(run.lo)
            out.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y + 3}" y2="{y + 27}" stroke="#333">'
                f"<title>{run.link} before {zxid_text(run.lo)}</title></line>"
            )
    for f in audit.told(*GRAVE):
        if s.name in (f.server, *f.servers) and f.zxid >= 0:
            x = scale.at(f.zxid)
            out.append(
                f'<path d="M{x:.1f} {y + 7} l6 -9 l-12 0z" fill="#a3161a">'
                f"<title>{text(f.code)} {text(f.sentence)}</title></path>"
            )
    return out
