"""A search expression: a condition on a state, over the fields that the model declares.

    two p: p.role == LEADING
    some p: len(p.history) > 1 and p.current_epoch < 2
    no p: p.role == LEADING
    timeouts_left == 0
    all p: p.asks and client1.mode == WAITING

A field of a role belongs only to its processes: an expression that reads one ranges over these.

The expression is parsed and made a property of the language, which the front end types; it is never evaluated as
Python.
"""

from __future__ import annotations

import ast
import hashlib
import keyword
import re
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from invariants.registry import STATE, Property
from traces.walk.walker import WalkError
from zabspec.language.layout.schema import NODE, Role
from zabspec.language.layout.source import register_source
from zabspec.language.program import own_names
from zabspec.model import Model
from zabspec.typed import near

# For how many processes it must be true, by quantifier.
QUANTIFIERS = {
    "some": "count > 0", "no": "count == 0", "all": "count == of", "one": "count == 1", "two": "count >= 2",
    "three": "count >= 3",
}  # fmt: skip
QUANTIFIED = re.compile(rf"\s*({'|'.join(QUANTIFIERS)})\s+([a-z]\w*)\s*:\s*(.+)", re.DOTALL)
SEARCH, PREMISE = "zabcheck_search", "zabcheck_search_premise"
TAKEN = ("s", "count", "of", "len", "range")
LONGEST = 500  # characters
DEEPEST = 200  # nodes of its syntax
OPERATORS = (
    ast.And, ast.Or, ast.Not, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn, ast.Add, ast.Sub,
    ast.Mult, ast.USub,
)  # fmt: skip


def words_of_search(model: Model) -> list[str]:
    """Return the fields, constants and processes of roles that an expression may name, for completion."""
    roles = model.program.schema.roles
    names = roles.names if roles is not None else ()
    return [*fields_of(model), *sorted(constants_of(model)), *names]


def constants_of(model: Model) -> Mapping[str, str]:
    """Return the numbers that the protocol names, each with its key in the program.

    Some of the world's own names stand for other numbers than the protocol's.
    """
    program = model.program
    found = {name: name for name in program.schema.constants if name in ("NODES", "TXNS", "EPOCHS")}
    for module in program.protocol:
        for name, value in own_names(module).items():
            if type(value) is int and name.isupper():
                found[name] = program.apart.get(name, name)
    return found


def searched(expression: str, model: Model) -> tuple[Property, Mapping[str, FunctionType]]:
    """Return the property that an expression is false, and its functions by name.

    Raises:
        WalkError: it is not an expression; the sentence says where.
    """
    if len(expression) > LONGEST:
        raise WalkError(f"an expression has at most {LONGEST} characters")
    found = QUANTIFIED.fullmatch(expression)
    quantifier, name, inner = found.groups() if found is not None else ("", "", expression)
    if name and (name in processes_of(model) or name in fields_of(model) or name in TAKEN or keyword.iskeyword(name)):
        raise WalkError(f"call the process something else than {name}")
    try:
        tree = ast.parse(inner.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise WalkError(f"this is not an expression: {inner.strip()[:80]}") from None
    if sum(1 for _ in ast.walk(tree)) > DEEPEST:
        raise WalkError("this expression is too long")
    reader = Reader(model, name)
    text = ast.unparse(reader.visit(tree))
    through = reader.members
    counting = [
        "    count = 0",
        f"    of = {len(through)}",
        f"    for {name} in range({through.start}, {through.stop}):",
        f"        if {text}:",
        "            count = count + 1",
    ]
    lines = [
        "from zabspec.language.python.lang import State",
        "",
        f"def {SEARCH}(s: State) -> bool:",
        *(counting if name else []),
        f"    return not ({QUANTIFIERS.get(quantifier, text)})",
        "",
        f"def {PREMISE}(s: State) -> bool:",
        "    return True",
        "",
    ]
    source = "\n".join(lines)
    file = f"<search {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    made: dict[str, Any] = {"__name__": "zabcheck_search"}
    exec(register_source(file, source).code, made)  # defines two functions, and runs neither
    functions = {key: made[key] for key in (SEARCH, PREMISE)}
    said = " ".join(expression.split())
    return Property(said, STATE, "a search", "", functions[SEARCH], functions[PREMISE]), functions


def fields_of(model: Model) -> dict[str, Any]:
    return {f.name: f for f in model.program.schema.fields if f.role is not Role.SCRATCH}


def processes_of(model: Model) -> dict[str, int]:
    """Return the processes by the names that an expression may use for them: `p0`, and `client1` of a role."""
    schema = model.program.schema
    named = {} if schema.roles is None else {name: p for p, name in enumerate(schema.roles.names)}
    return {f"p{p}": p for p in range(schema.nodes)} | named


class Reader(ast.NodeTransformer):
    """Converts a parsed expression to one of the language, and refuses all else.

    Args:
        model: the one whose fields it names.
        process: its variable for a process; empty if it has none.
    """

    def __init__(self, model: Model, process: str) -> None:
        self.model, self.process = model, process
        self.fields, self.constants, self.processes = fields_of(model), constants_of(model), processes_of(model)
        self.roles = model.program.schema.roles
        self.of: dict[str, str] = {}  # the fields of a role that are read of the variable's process

    @property
    def members(self) -> range:
        """Return the processes that the expression ranges over.

        Raises:
            WalkError: no process has all the fields that it reads.
        """
        if self.roles is None or not self.of:
            return range(self.model.configuration.nodes)
        if len(set(self.of.values())) > 1:
            said = " and ".join(f"{name} ({role})" for name, role in self.of.items())
            raise WalkError(f"no process has {said}")
        role = next(iter(self.of.values()))
        return next(r.members for r in self.roles if r.name == role)

    def check_of(self, name: str, process: ast.expr) -> None:
        """Check that a process has the field that is read of it.

        Raises:
            WalkError: it is a field of another role.
        """
        field = self.fields[name]
        if self.roles is None or not field.of or not isinstance(process, ast.Name):
            return
        if process.id == self.process:
            self.of[name] = field.of
        elif process.id in self.processes and self.roles.of_process(self.processes[process.id]).name != field.of:
            raise WalkError(f"{process.id} has no {name}, a field of role {field.of}")

    def generic_visit(self, node: ast.AST) -> ast.AST:
        allowed = (ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Subscript, ast.Load, *OPERATORS)
        if not isinstance(node, allowed):
            said = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
            raise WalkError(f"an expression cannot have {said[:60]}")
        return super().generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) not in (int, bool) or not -(2**31) < node.value < 2**31:  # type: ignore[operator]
            raise WalkError(f"an expression has whole numbers, True and False, and not {str(node.value)[:40]}")
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        named = isinstance(node.func, ast.Name) and node.func.id == "len"
        if not named or len(node.args) != 1 or node.keywords:
            raise WalkError("the only function of an expression is len")
        return ast.Call(node.func, [self.visit(node.args[0])], [])

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if name == self.process:
            return node
        if name in self.fields:
            return ast.Attribute(ast.Name("s", ast.Load()), name, ast.Load())
        if name in self.processes:
            return ast.Constant(self.processes[name])
        key = self.constants.get(name)
        if key is not None and name in self.model.program.schema.constants:
            return ast.Attribute(ast.Name("s", ast.Load()), name, ast.Load())
        if key is not None:
            return ast.Name(key, ast.Load())
        raise WalkError(f"there is no {name[:40]}{near(name, words_of_search(self.model))}")

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        of = node.value
        if isinstance(of, ast.Name) and (of.id == self.process or of.id in self.processes):
            field = self.fields.get(node.attr)
            if field is None or field.axes[:1] != (NODE,):
                own = [n for n, f in self.fields.items() if f.axes[:1] == (NODE,)]
                raise WalkError(f"a process has no {node.attr[:40]}{near(node.attr, own)}")
            self.check_of(node.attr, of)
            whole = ast.Attribute(ast.Name("s", ast.Load()), node.attr, ast.Load())
            return ast.Subscript(whole, self.visit(of), ast.Load())
        if node.attr.startswith("_"):
            raise WalkError(f"there is no {node.attr[:40]}")
        return ast.Attribute(self.visit(of), node.attr, ast.Load())

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self.fields:
            self.check_of(node.value.id, node.slice)
        return self.generic_visit(node)
