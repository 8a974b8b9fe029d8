"""Say what an author wrote that the language does not have, in Python's words, with the form that it has."""

from __future__ import annotations

import ast

# what a construct is called, and what to write instead, by the names of its class
WRITTEN: dict[str, tuple[str, str]] = {
    "NamedExpr": ("a walrus", "give the value its name in a statement before"),
    "Lambda": ("a lambda", "write a function of the file, and call it; when= takes a lambda"),
    "FunctionDef": ("a function in a function", "write it at the top of the file"),
    "ClassDef": ("a class in a function", "write it at the top of the file"),
    "Dict": ("a dictionary", "declare a field Each[key, kind], or a RecordType"),
    "List": ("a list", "assign it to a sequence of the state, s.log[p] = [...], or test x in [a, b]"),
    "Tuple": ("a tuple", "give each value a name, test x in (a, b), or make a constant of the file of it"),
    "Slice": ("a slice", "assign it to a sequence of the state, s.log[p] = s.log[p][:k], or append in a loop"),
    "ListComp": ("a list comprehension", "assign it to a sequence of the state, or write any(...), sum(...), {...}"),
    "DictComp": ("a dictionary comprehension", "write to a field Each[key, kind] in a loop"),
    "GeneratorExp": ("a generator", "write it in any(...), all(...), sum(...), min(...) or max(...)"),
    "JoinedStr": ("an f-string", "write it in broken(f'...') of a property"),
    "TemplateStr": ("a template string", "write an f-string in broken(f'...') of a property"),
    "Starred": ("a star", "write each value"),
    "Delete": ("del", "write s.log[p].pop(k), s.votes[p].discard(q) or .clear()"),
    "With": ("with", "write its statements alone"),
    "Try": ("try", "test before: a run-time error is a violation"),
    "Raise": ("raise", "write assert"),
    "Match": ("match", "write if and elif"),
    "Import": ("an import in a function", "write it at the top of the file"),
    "Global": ("global", "declare a field of the state: shared, environment or ghost"),
    "Assign": ("an assignment to several targets", "write one for each"),
    "AnnAssign": ("a declaration without a value", "give the name its first value"),
    "Yield": ("yield", "a step is atomic: split it into several actions"),
    "While": ("while with else", "write a loop over range(...)"),
    "TypeAlias": ("a type alias in a function", "write it at the top of the file"),
    "Div": ("/", "write //, which divides integers"),
    "MatMult": ("@", "write * and sum(...)"),
    "Is": ("is", "write =="),
    "IsNot": ("is not", "write !="),
    "Invert": ("~", "write -x - 1, or for a set those - members"),
    "UAdd": ("a unary +", "leave it out"),
    "float": ("a float", "write integers, in a smaller unit"),
    "complex": ("a complex number", "write integers"),
    "str": ("a text", "declare OneOf('IDLE', 'BUSY') and constants of these names"),
    "bytes": ("bytes", "write integers"),
    "NoneType": ("None", "write NOBODY for no process, NOTHING for a Maybe"),
    "ellipsis": ("...", "write pass"),
    "Expr": ("a value that nothing uses", "is a return, an assignment or a call missing?"),
}  # fmt: skip
ALIKE = {
    "AsyncFunctionDef": "FunctionDef", "AsyncFor": "Yield", "AsyncWith": "Yield", "Await": "Yield",
    "YieldFrom": "Yield", "TryStar": "Try", "ImportFrom": "Import", "Nonlocal": "Global",
}  # fmt: skip


def refusal(node: ast.AST) -> str:
    """Return the sentence that refuses a piece of source."""
    part: object = node.op if isinstance(node, ast.UnaryOp) else node
    part = part.value if isinstance(part, ast.Constant) else part
    name = type(part).__name__
    what, instead = WRITTEN[ALIKE.get(name, name)]
    return f"{what} is not in the language: {instead}"
