"""Write the tables of pages that state what code or data files state already, in place of `<!-- generated: NAME -->`.

The site and `zabcheck docs` show a page with these tables; its file has the marks alone, so nothing is written twice.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from zabspec.extras import is_there
from zabspec.files import folder_of

RELATIONS = "property-relations.toml"  # beside the page of properties
CLAIMS, CLAIM_RUNS = "paper-claims.toml", "paper-claims.json"  # beside the page of the papers' claims
MARK = re.compile(r"^<!-- generated: ([\w/-]+) -->$", re.MULTILINE)


def with_tables(text: str, folder: Path) -> str:
    """Return a page with a table in place of each mark.

    Args:
        text: Markdown.
        folder: the page's, in which data files lie.

    Raises:
        KeyError: a mark names no table.
    """
    return MARK.sub(lambda found: written(found[1], folder), text)


def written(name: str, folder: Path) -> str:
    """Return the table that a mark names: `NAME`, or `WING/NAME` of `checker/WING/page_tables.py`."""
    wing, _, own = name.rpartition("/")
    if not wing:
        return TABLES[own](folder)
    if not is_there(f"checker.{wing}"):
        return f"(This table needs the wing {wing}, which is not installed.)"
    return str(import_module(f"checker.{wing}.page_tables").TABLES[own](folder))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown; a bar inside a cell is escaped."""
    cells = [[" ".join(cell.split()).replace("|", r"\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *cells))


def properties(_: Path) -> str:
    """Return the table of the papers' properties, with the statement of each from `invariants/`."""
    from invariants import PROPERTIES

    return table(
        ("property", "of", "judges", "source", "statement", "witness"),
        ((f"`{p.name}`", p.of, ", ".join(p.protocols) or "all", p.source, p.statement, p.premise) for p in PROPERTIES),
    )


def relations(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the implications and counterexamples that a folder's data file lists."""
    return tomllib.loads((folder / RELATIONS).read_text(encoding="utf-8"))


def named(names: Iterable[str]) -> str:
    """Return names joined in a line: properties as they are, conditions in italics."""
    from invariants import PROPERTIES

    known = {p.name for p in PROPERTIES}
    return ", ".join(name if name in known else f"*{name}*" for name in names)


def implications(folder: Path) -> str:
    """Return the table of which properties imply which."""
    rows = relations(folder)["implication"]
    return table(("if", "then", "because"), ((named(r["if"]), named([r["then"]]), r.get("because", "")) for r in rows))


def counterexamples(folder: Path) -> str:
    """Return the table of histories, one for each implication that fails."""
    rows = relations(folder)["counterexample"]
    return table(
        ("these hold", "this does not", "in this history"),
        ((named(r["these_hold"]), named([r["violated"]]), "; ".join(r["history"])) for r in rows),
    )


def event_columns(_: Path) -> str:
    """Return the columns of event tables."""
    from traces.events.table import COLUMNS

    return table(
        ("column", "type", "null", "meaning"),
        (
            (f"`{n}`", "text" if text else "int64", "" if null else "never null", what)
            for n, text, null, what in COLUMNS
        ),
    )


def event_kinds(_: Path) -> str:
    """Return the kinds of events."""
    from traces.events.table import KINDS

    return table(("kind", "event"), ((f"`{kind}`", what) for kind, what in KINDS.items()))


def described(part: Mapping[str, Any], named: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and description of each key of a JSON schema, those of inner objects included.

    Args:
        part: a schema.
        named: its `$defs`.
        name: the path of the part, with a dot at its end.
    """
    for key, inner in part.get("properties", {}).items():
        parts = [inner, *inner.get("anyOf", ())]
        parts += [named[each["$ref"].rpartition("/")[2]] for each in parts if "$ref" in each]
        texts = [each["description"] for each in parts if "description" in each]
        yield f"`{name}{key}`", " ".join(dict.fromkeys(texts))
        for each in parts:
            yield from described(each, named, f"{name}{key}.")
            items = each.get("items", {})
            items = named[items["$ref"].rpartition("/")[2]] if "$ref" in items else items
            yield from described(items, named, f"{name}{key}[].")


def report_keys(_: Path) -> str:
    """Return the keys of a report of an exploration, as its JSON schema describes them."""
    from checker.report.documents import ExplorationReport
    from zabspec.typed import schema

    found = schema(ExplorationReport)["$defs"]
    return table(("key", "meaning"), described(found["ExplorationReport"], found))


def functions(_: Path) -> str:
    """Return the functions of the Python API: the command of each, its answer, and what its request does."""
    from checker.requests.base.kinds import all_kinds, is_command

    kinds = all_kinds()
    within = {other: name for name, kind in kinds.items() for other in kind.others}
    rows = []
    for name, kind in kinds.items():
        function = name.replace("-", "_")
        if hasattr(sys.modules[kind.__module__], function):  # `walk` has none
            command = name if is_command(kind) else within.get(name, "")
            answer = kind.answer.__annotations__["return"]
            title = (inspect.getdoc(kind) or "").splitlines()[0]
            rows.append((f"`{function}`", f"`{f'zabcheck {command}'.strip()}`", f"`{answer}`", title))
    return table(("function", "command", "answer", "what it does"), rows)


# The tables by the name in their mark, each written by a function of the page's folder.
@dataclass(frozen=True)
class PaperClaim:
    """A row of the ledger: a claim of a paper, and the commands that show it.

    Attributes:
        source: the paper's section.
        claim: in a sentence.
        commands: run one after the other, in one folder.
        says: words that they print.
    """

    source: str
    claim: str
    commands: tuple[str, ...]
    says: tuple[str, ...]

    @property
    def digest(self) -> str:
        """What identifies a run of the row: its commands, and what they have to print."""
        return hashlib.sha256(json.dumps([self.commands, self.says]).encode()).hexdigest()[:16]


def paper_claims(folder: Path) -> list[PaperClaim]:
    """Return the rows of the ledger that a folder's data file lists."""
    rows = ledger_rows(folder, "claim")
    return [PaperClaim(r["source"], r["claim"], tuple(r["commands"]), tuple(r["says"])) for r in rows]


def ledger_rows(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Return the rows of a kind: `claim`, or `unshown` for claims that no command shows."""
    rows: list[dict[str, Any]] = tomllib.loads((folder / CLAIMS).read_text(encoding="utf-8"))[kind]
    return rows


def ledger(folder: Path) -> str:
    """Return the table of the papers' claims, each with its commands, what they print, and when they were run."""
    record = json.loads((folder / CLAIM_RUNS).read_text(encoding="utf-8"))
    rows = []
    for c in paper_claims(folder):
        run = record["runs"].get(c.digest)
        ran = f"{run['date']}, {run['cpu_seconds']} s" if run else "not run"
        commands = ", then ".join(f"`{command}`" for command in c.commands)
        rows.append((c.source, c.claim, commands, "; ".join(f"`{words}`" for words in c.says), ran))
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    unshown = [(r["source"], r["claim"], r["why"]) for r in ledger_rows(folder, "unshown")]
    return (
        f"{table(('source', 'claim', 'command', 'prints', 'run'), rows)}\n\n{record['machine']}; {versions}.\n\n"
        f"No command shows these:\n\n{table(('source', 'claim', 'why not'), unshown)}"
    )


def gallery_entries(_: Path) -> str:
    """Return a section for each group of the gallery: the command of each entry, its claim, and its verdict."""
    from checker.ci.judging import expected
    from checker.ci.shipped import TITLES, gallery

    entries = {c.name: c for c in gallery().matrix.checks}
    parts = []
    for group, names in gallery().groups.items():
        rows = ((f"`zabcheck gallery {name}`", entries[name].claim, expected(entries[name].expect)) for name in names)
        parts += [f"## {TITLES[group]} (`{group}`)", table(("command", "claim", "verdict"), rows)]
    return "\n\n".join(parts)


def exercises(_: Path) -> str:
    """Return a section for each exercise: its name, its task, and its points."""
    folder = folder_of("examples", "paxos.py", "examples") or Path("examples")
    checks = tomllib.loads((folder / "exercises/zabcheck.toml").read_text(encoding="utf-8"))["check"]
    return "\n\n".join(f"## {c['name']}\n\n{c['story'].strip()} Points: {c['points']}." for c in checks)


def variants_of(protocol: str) -> Callable[[Path], str]:
    """Return what writes the table of a protocol's variants, as `zabcheck variants` lists them."""

    def written(_: Path) -> str:
        from checker.requests.variants import Variants

        rows = Variants(protocol=protocol).answer().rows
        head = ("variant", "rule", "what is changed", "breaks", "why", "shown within")
        return table(head, ((f"`{r['variant']}`", *(r[name.replace(" ", "_")] for name in head[1:])) for r in rows))

    return written


def core(_: Path) -> str:
    """Return the table of the six core properties, to exhaustion, as entries of the gallery expect them."""
    from checker.ci.shipped import gallery
    from invariants import PROPERTIES

    names = [p.name for p in PROPERTIES if p.source == "DSN'11 III.A"]
    rows = []
    for c in (c for c in gallery().matrix.checks if c.name.startswith("core-")):
        cells = [f"breaks at {depth}" if (depth := c.expect.violated.get(name)) else "holds" for name in names]
        rows.append((f"`zabcheck gallery {c.name}`", *cells, f"{c.expect.states:,}"))
    return table(("entry", *names, "states"), rows)


TABLES: dict[str, Callable[[Path], str]] = {
    "core": core,
    "variants-zab": variants_of("zab"),
    "variants-ladis": variants_of("ladis"),
    "variants-db19": variants_of("db19"),
    "gallery": gallery_entries,
    "paper-claims": ledger,
    "properties": properties,
    "implications": implications,
    "counterexamples": counterexamples,
    "event-columns": event_columns,
    "event-kinds": event_kinds,
    "report-keys": report_keys,
    "functions": functions,
    "exercises": exercises,
}
