"""The syntax of functions, from their files or from text that was generated."""

from __future__ import annotations

import ast
from types import FunctionType

__all__ = ["LanguageError", "definition", "register_source"]


class LanguageError(Exception):
    """A text is outside the language: file, line and reason."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        super().__init__(f"{file}:{line}: {reason}")
        self.file, self.line, self.reason = file, line, reason


_parsed: dict[str, dict[str, ast.FunctionDef]] = {}
_generated: dict[str, str] = {}


def register_source(name: str, text: str) -> None:
    """Make generated text known to the front end under a file name of its own."""
    _generated[name] = text
    _parsed.pop(name, None)


def definition(function: FunctionType) -> ast.FunctionDef:
    """The syntax of a function, from its file."""
    file = function.__code__.co_filename
    if file not in _parsed:
        if file in _generated:
            text = _generated[file]
        else:
            with open(file, encoding="utf-8") as handle:
                text = handle.read()
        found = {}
        for node in ast.walk(ast.parse(text, file)):
            if isinstance(node, ast.FunctionDef):
                found[f"{node.name}:{node.lineno}"] = node
                for decorator in node.decorator_list:
                    found[f"{node.name}:{decorator.lineno}"] = node
        _parsed[file] = found
    key = f"{function.__code__.co_name}:{function.__code__.co_firstlineno}"
    try:
        return _parsed[file][key]
    except KeyError:
        raise LanguageError(
            file, function.__code__.co_firstlineno, "a lambda or a nested function cannot be compiled"
        ) from None
