"""Collect the messages of the product from its source, and check them by the rules of WORDS and CONTRIBUTING.md.

    python -m tests.project.messages [PART]

prints them, a line each, with their places: those of files whose path has PART. So a review of a change can read them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.project.prose import END, PATTERNS, length

TOP = Path(__file__).parents[2]
PACKAGES = ("zabcheck", "zabspec", "invariants", "traces", "checker")
ERROR, HELP, REPORT, TEMPLATE = "error", "help", "report", "template"
FEWEST = {ERROR: 1050, HELP: 200, REPORT: 3100, TEMPLATE: 25}  # of each kind; fewer: the collector misses some
LONGEST_SENTENCE = 40  # words, as on pages
GAP = "{}"  # where a message has a value

HELP_WORDS = ("help", "short_help", "epilog", "description")  # arguments of click and argparse
WORD = re.compile(r"(?<![\w.{])[A-Za-z][a-z'’-]*(?![\w(={])")
CODE = re.compile(r"`[^`]*`|\"[^\"\n]{1,80}\"|'[^'\n ]{1,60}'|\bNOBODY\b|__name__")
COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)  # of a template
PROPER = r"(?:Spark|ZooKeeper|Java|Debian|TLC|Python|Option|Maybe|Expr|False)\b"  # what an error may begin with
TEXT_OF_TEMPLATE = re.compile(
    r">([^<>{}]*[a-z]{2,} [a-z]{2,}[^<>{}]*)(?=<|\{)|^([A-Z][^<>{}|]*[a-z]{2,} [a-z]{2,}[^<>]*)$", re.M
)

# Turns that messages do not use, beside those of pages, and what to write instead.
MORE_DIALECT = {
    r"(?:gives?|given|gave) back": "return",
    r"sooner or later": "eventually",
    r"again and again": "repeatedly, forever",
    r"goes on|went on|going on|go on": "continue",
    r"(?:premises? (?:\w+ ){0,4}|is |are |was )(?<!not )met(?= |$)|meets? the premise": "reach the premise",
    r"looked at|looks at": "check, explore",
    r"breaks? (?:a|the|no|this|which) propert(?:y|ies)": "violate",
    r"the question": "the request, the configuration",
    r"give up (?:after|at)": "stop",
    r"(?:must|may) not be said|says (?:itself|nothing)": "has, does not show",
    r"(?:is|are) to be (?!a\b)\w+ed": "must be",
    r"tells? .{0,30}apart": "distinguish",
    r"at work": "running",
    r"drawn (?:at|from)": "random, by the seed",
    r"(?<!there )is no (?!longer|more|less)\w+": "is not a",
    r"(?:is|are|was) there (?:already|twice)": "already exists; is listed twice",
    r"(?:is|are) so\b(?! (?:large|that|many|long))": "hold, is True",
}
# One voice: a message states what is the case and what to do; it does not address, apologise or exclaim.
VOICE = {
    r"you (?:must|should|need to|have to|may|cannot)": "the imperative",
    r"we|our|us|I(?!\.|,|/|\b[-']?\d)": "what zabcheck does",
    r"please(?! report (?:it|this))": "the imperative",
    r"sorry|oops|unfortunately": "what is the case",
}
TURNS = {
    **PATTERNS,
    **{re.compile(rf"\b(?:{turn})\b", re.IGNORECASE): instead for turn, instead in MORE_DIALECT.items()},
    **{re.compile(rf"\b(?:{turn})\b"): instead for turn, instead in VOICE.items()},
}
ANY_TURN = re.compile("|".join(turn.pattern for turn in TURNS), re.IGNORECASE)  # one search for most messages
PYTHON = re.compile(r"__\w+__|\bself\.|\bNoneType\b|\b(?:Value|Type|Key|Index|Attribute|Runtime)Error\b|<class ")
# What is no sentence of a message, or is kept as it is; each has to have a fault, or it is taken out of here.
KEPT = {
    "zabspec/abstract/invariant.py": "names and statements of clauses, which are recorded with the proof",
    "zabspec/abstract/runs.py": "runs of the mutants of the proof, which are recorded with it",
    "checker/proof/find_needs.py": "names of clauses and lemmas, which are recorded with the proof",
    "checker/proof/queries.py": "names of lemmas, which are recorded with the proof",
    "zabspec/language/llvm_text.py": "machine code",
    "checker/manual.py": "words that a search leaves out",
    "checker/tla/values.py": "names of TLA+",
}
# WORDS keeps this turn in the line of the verdict, where nothing shorter is as clear.
VERDICT_LINE = ("checker/report/report.py", "checker/report/judged.py")


@dataclass(frozen=True)
class Message:
    """A string of the product that a user may read.

    Attributes:
        file, line: where it stands.
        kind: ERROR, of an exception; HELP, of the command line; REPORT, any other sentence; TEMPLATE, of a page.
        text: with GAP for each value that is put in.
    """

    file: str
    line: int
    kind: str
    text: str


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of the product, by path."""
    files = [path for package in PACKAGES for path in sorted((TOP / package).rglob("*.py"))]
    return {path.relative_to(TOP).as_posix(): ast.parse(path.read_text()) for path in files}


def text_of(node: ast.expr) -> str | None:
    """Return a string as it is written, with GAP for values; None: the expression is no string."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None and right is None else (left or GAP) + (right or GAP)
    return None


def is_prose(text: str) -> bool:
    """Return whether a string is a sentence or part of one: three words or more."""
    return " " in text and len(WORD.findall(text)) >= 3 and not re.search(r"^\s*(?:def|class|import|from) \w", text)


def is_command(node: ast.AST) -> bool:
    """Return whether a function is a command of click, whose docstring is its help."""
    decorators = getattr(node, "decorator_list", [])
    return any(re.search(r"\bclick\.(?:command|group)\b", ast.unparse(each)) for each in decorators)


def strings(node: ast.AST, kind: str) -> Iterator[tuple[int, str, str]]:
    """Yield the strings below a node: line, kind and text. Docstrings are left out, but for those of commands."""
    skipped: ast.AST | None = None
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        kind = REPORT
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            skipped = first
            if is_command(node):
                yield first.lineno, HELP, first.value.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return  # the docstring of a name
    elif isinstance(node, ast.Raise):
        kind = ERROR
    elif isinstance(node, ast.keyword) and node.arg in HELP_WORDS:
        kind = HELP
    elif isinstance(node, ast.expr) and (text := text_of(node)) is not None:
        yield node.lineno, kind, text
        if isinstance(node, ast.Constant):
            return
        for inner in ast.walk(node):  # a value may hold another sentence
            if isinstance(inner, ast.FormattedValue):
                yield from strings(inner.value, kind)
        return
    for child in ast.iter_child_nodes(node):
        if child is not skipped:
            yield from strings(child, kind)


def messages_of(file: str, tree: ast.Module) -> Iterator[Message]:
    """Yield the messages of a module."""
    for line, kind, text in strings(tree, REPORT):
        if is_prose(text):
            yield Message(file, line, kind, text)


def messages_of_template(file: str, text: str) -> Iterator[Message]:
    """Yield the sentences of a page's template."""
    text = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    for found in TEXT_OF_TEMPLATE.finditer(text):
        yield Message(file, text.count("\n", 0, found.start()) + 1, TEMPLATE, (found[1] or found[2]).strip())


@cache
def messages() -> tuple[Message, ...]:
    """Return all messages of the product."""
    out = [each for file, tree in trees().items() for each in messages_of(file, tree)]
    for package in PACKAGES:
        for path in sorted((TOP / package).rglob("*.j2")):
            out += messages_of_template(path.relative_to(TOP).as_posix(), path.read_text())
    return tuple(out)


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a message, each in one line; examples, which follow `\\b`, are left out."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip() and "\b" not in part]


def faults(message: Message) -> Iterator[str]:
    """Yield what a message has against the rules."""
    prose = CODE.sub("", message.text)
    for turn, instead in TURNS.items() if ANY_TURN.search(prose) else ():
        found = turn.search(prose)
        if found and not (found[0] == "put to the test" and message.file in VERDICT_LINE):
            yield f"{found[0]!r}: write {instead}"
    for paragraph in paragraphs(message.text) if message.text.count(" ") >= LONGEST_SENTENCE else ():
        for sentence in END.split(paragraph):
            if length(sentence) > LONGEST_SENTENCE and not re.search(r";|: ", sentence):
                yield f"a sentence of {length(sentence)} words: {sentence[:60]} ..."
    if message.kind == ERROR:
        yield from faults_of_error(prose)
    if message.kind == HELP:
        yield from faults_of_help(message.text)
    if found := PYTHON.search(prose):
        yield f"{found[0]!r} is a name of Python"


def faults_of_error(prose: str) -> Iterator[str]:
    """Yield what an error has against its form: a clause that begins small and ends without a period."""
    text = prose.strip()
    if re.search(r"[a-z)]\.$", text) and not re.match(PROPER, text):
        yield "an error ends without a period"
    if re.match(r"[A-Z][a-z]+ [a-z]", text) and not re.match(PROPER, text):
        yield "an error begins with a small letter"
    if "!" in re.sub(r"!=|`!`", "", text):
        yield "an error does not exclaim"


def faults_of_help(text: str) -> Iterator[str]:
    """Yield what a help has against its form: sentences that begin with a capital and end with a period."""
    for paragraph in paragraphs(text):
        if not re.search(r"[.?:)}]$", paragraph):
            yield f"help ends with a period: {paragraph[-40:]}"
    first = text.lstrip()
    if re.match(r"[a-z]+ [a-z]", first):
        yield f"help begins with a capital letter: {first[:40]}"


def all_faults(found: Iterable[Message]) -> list[str]:
    """Return a line for each fault of messages."""
    return [f"{each.file}:{each.line}: {fault}: {each.text[:90]!r}" for each in found for fault in faults(each)]


if __name__ == "__main__":
    for each in messages():
        if not sys.argv[1:] or sys.argv[1] in each.file:
            print(f"{each.file}:{each.line}: {each.kind}: {' '.join(each.text.split())}")
