"""Run the source of a protocol: its imports bound to this explorer, its functions in one namespace (N1-N3)."""

from __future__ import annotations
import __future__

import ast
import builtins
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from zabspec.second import language
from zabspec.second.kinds import Fault, kept
from zabspec.second.language import Mark, MessageName, Variant

ROOT = Path(__file__).resolve().parents[2]
LANGUAGE = {
    "zabcheck.language", "zabspec.language", "zabspec.language.python.lang", "zabspec.authoring.declaration",
    "zabspec.worlds.actor", "zabspec.history",
}  # fmt: skip
RELEASES = SimpleNamespace(SAME={})  # of `zabspec.zoo_cfg`: which release has which text, which no model reads
PRODUCT = {"zabcheck", "zabspec", "checker", "invariants", "traces"}


class Exact(ast.NodeTransformer):
    """Make products and shifts check the word (E1), and keep `broken` from evaluating its text (E13)."""

    CHECKED = (ast.Mult, ast.LShift, ast.RShift)

    def __init__(self, tree: ast.Module) -> None:
        bound = {a.asname or a.name for part in tree.body if isinstance(part, ast.ImportFrom) for a in part.names}
        read = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} - bound
        self.words = [ast.alias(name) for name in sorted(read) if hasattr(language, name)]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Import every word of the language that the source reads, and has from nowhere else."""
        if node.module in LANGUAGE and node.names[0].name == "*" and self.words:
            node.names = self.words
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return self._checked(node, node.left, node.op, node.right) if isinstance(node.op, self.CHECKED) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, self.CHECKED):
            return node
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        value = self._checked(node, read, node.op, node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        self.generic_visit(node)
        call = ast.Call(ast.Name("__asserted__", ast.Load()), [node.test], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(ast.Call(ast.Name("__members__", ast.Load()), node.elts, []), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        to, value = node.targets[0], node.value
        if isinstance(to, ast.Tuple) and isinstance(value, ast.Tuple) and len(to.elts) == len(value.elts):
            value.elts = [self._kept(v) for v in value.elts]
        elif isinstance(to, ast.Name):
            node.value = self._kept(value)
        return node

    def _named(self, node: ast.AnnAssign | ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._kept(node.value)
        return node

    visit_AnnAssign = visit_Return = _named

    @staticmethod
    def _kept(value: ast.expr) -> ast.expr:
        """Keep what a place holds, where it gets a name."""
        if not isinstance(value, (ast.Attribute, ast.Subscript, ast.IfExp)):
            return value
        return ast.copy_location(ast.Call(ast.Name("__kept__", ast.Load()), [value], []), value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "broken":
            node.args, node.keywords = [], []
        return node

    @staticmethod
    def _checked(at: ast.AST, left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
        name = ast.Name("__checked__", ast.Load())
        return ast.copy_location(ast.Call(name, [left, ast.Constant(type(op).__name__), right], []), at)


def checked(left: Any, op: str, right: Any) -> Any:
    """Return a product or shift, or raise a `Fault` if it leaves a 64-bit word (E1)."""
    if op != "Mult" and not 0 <= right < 64:
        raise Fault(f"a shift by {right}")
    result = left * right if op == "Mult" else left << right if op == "LShift" else left >> right
    if isinstance(result, int) and not -(1 << 63) <= result < 1 << 63:
        raise Fault("a value outside 64 bits")
    return result


def asserted(test: bool) -> None:
    """Raise a `Fault` if an `assert` is false (E14)."""
    if not test:
        raise Fault("an assertion does not hold")


def members(*given: int) -> frozenset[int]:
    """Return the set of a few members, or raise a `Fault` (E16)."""
    if not all(0 <= k < 63 for k in given):
        raise Fault(f"{given} are no members of a set")
    return frozenset(given)


class Loader:
    """Run source files, each once, as modules of this explorer.

    Args:
        main: the file that the protocol is in; the files next to it are what it may import.
    """

    def __init__(self, main: Path) -> None:
        self.main = main.resolve()
        self.modules: dict[Path, ModuleType] = {}

    def run(self, path: Path) -> ModuleType:
        """Run the source at `path`, if it has not run yet, and return its module."""
        path = path.resolve()
        if path not in self.modules:
            module = ModuleType(
                f"second_source_{path.stem}" if path.stem != "__init__" else f"second_source_{path.parent.stem}"
            )
            module.__file__ = str(path)
            sys.modules[module.__name__] = module  # dataclasses look it up
            importing = SimpleNamespace(**vars(builtins))
            importing.__import__ = lambda *a, **k: self._import(path, *a, **k)
            module.__dict__.update(__builtins__=vars(importing), __checked__=checked)
            module.__dict__.update(__asserted__=asserted, __members__=members, __kept__=kept)
            tree = ast.parse(path.read_text(), str(path))
            tree = ast.fix_missing_locations(Exact(tree).visit(tree))
            flags = __future__.annotations.compiler_flag
            exec(compile(tree, str(path), "exec", flags=flags, dont_inherit=True), module.__dict__)
            self.modules[path] = module
        return self.modules[path]

    def _import(
        self, path: Path, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if not level and name in LANGUAGE:
            return language if fromlist else self._top(name, language)
        if name == "zabspec.zoo_cfg":
            return RELEASES
        base = path.parents[level - 1] if level else path.parent
        inner = name.replace(".", "/")
        for root in [base] if level else [base, self.main.parent, ROOT]:
            found = root / inner / "__init__.py"  # a package goes before a file of its name
            if root == ROOT or not found.is_file():
                found = root / f"{inner}.py"
            if found.is_file() and name:
                if root == ROOT and not self._is_source(found):
                    break
                module = self.run(found)
                for part in fromlist or ():
                    if not hasattr(module, part) and (found.parent / f"{part}.py").is_file():
                        setattr(module, part, self.run(found.parent / f"{part}.py"))
                return module if fromlist else self._top(name, module)
            if fromlist and all((root / inner / f"{part}.py").is_file() for part in fromlist):
                return SimpleNamespace(**{part: self.run(root / inner / f"{part}.py") for part in fromlist})
        if name.split(".")[0] in PRODUCT or level:
            raise ImportError(f"{path}: the second explorer has no module {name}")
        return builtins.__import__(name, globals, locals, fromlist, level)

    @staticmethod
    def _is_source(path: Path) -> bool:
        inner = path.relative_to(ROOT).as_posix()
        ours = ("zabspec/zab.py", "zabspec/protocols/", "zabspec/zookeeper/")
        return not inner.startswith(tuple(PRODUCT)) or inner.startswith(ours)

    @staticmethod
    def _top(name: str, module: Any) -> Any:
        for part in reversed(name.split(".")[1:]):
            module = SimpleNamespace(**{part: module})
        return module


class Program:
    """All functions of a model in one namespace.

    Args:
        mains: the modules whose names are the protocol's; of a name in several, the last one's counts.
        loaded: all modules that ran: a name that only these have is for their own functions.
        overrides: the variant's functions by the name they replace.
    """

    def __init__(self, mains: list[ModuleType], loaded: list[ModuleType], overrides: dict[str, Callable]) -> None:
        self.globals = [vars(module) for module in loaded]
        self.base: dict[str, Any] = {}
        for module in [*loaded, *mains]:
            self.base.update(vars(module))
        own = ((name, value) for module in mains for name, value in vars(module).items())
        self.visible = {name for name, value in own if vars(language).get(name) is not value} | set(overrides)
        self.names: dict[str, Any] = {}
        self.moved: dict[int, FunctionType] = {}
        self.overrides = overrides
        for name, value in self.base.items():
            self.names[name] = self.move(value)
        for name, function in overrides.items():
            moved = self.move(function, fresh=True)
            mark = getattr(self.base.get(name), "mark", None)
            if mark:
                moved.mark = mark
            self.names[name] = moved

    def hook(self, name: str) -> Callable | None:
        """Return a function that the world calls, or None if the protocol does not define it (section 3.2)."""
        return self.names.get(name) if name in self.visible else None

    def move(self, value: Any, fresh: bool = False) -> Any:
        """Return a function of the sources with the one namespace as its globals; other values as they are."""
        if not isinstance(value, FunctionType) or not any(value.__globals__ is g for g in self.globals):
            return value
        if fresh or id(value) not in self.moved:
            moved = FunctionType(value.__code__, self.names, value.__name__, value.__defaults__, value.__closure__)
            moved.__kwdefaults__, moved.__annotations__ = value.__kwdefaults__, value.__annotations__
            moved.__dict__.update(value.__dict__)
            if fresh:
                return moved
            self.moved[id(value)] = moved
        return self.moved[id(value)]

    def current(self, function: Callable) -> Callable:
        """Return what takes the place of a function that a mark refers to."""
        name = function.__name__
        return self.names[name] if self.base.get(name) is function else self.move(function)

    def marked(self, *sorts: str) -> list[tuple[str, Mark, Callable]]:
        """Return the functions with a mark of these sorts, in the order of their definitions (L4)."""
        result: list[tuple[str, Mark, Callable]] = []
        for name, value in self.names.items():
            mark = getattr(value, "mark", None)
            if isinstance(value, FunctionType) and mark and mark.sort in sorts and name in self.visible:
                if name == value.__name__ or name in self.overrides:
                    result.append((name, mark, value))
        return result

    def messages_of(self, function: Callable, name: str = "") -> list[str]:
        """Return the kinds of messages that the annotations of a function's parameters name, in their order."""
        original = self.base.get(name, function)
        code = original.__code__
        texts = [original.__annotations__.get(v, "") for v in code.co_varnames[: code.co_argcount]]
        named = [(text, self.base.get(text)) for text in (str(t) for t in texts)]
        return [str(value) if isinstance(value, MessageName) else text for text, value in named]


def chosen(variants: list[Variant], names: str) -> dict[str, Callable]:
    """Return the overrides of the variants with these names, separated by commas (N3)."""
    by_name = {variant.name: variant for variant in variants}
    result: dict[str, tuple[Callable, Variant]] = {}
    for variant in (by_name[name] for name in names.split(",") if name):
        for place, function in variant.overrides.items():
            have = result.get(place)
            if have is None or have[0] is function or have[1].name in variant.over:
                result[place] = (function, variant)
            elif variant.name not in have[1].over:
                raise ValueError(f"{variant.name} and {have[1].name} both replace {place}")
    return {place: function for place, (function, _) in result.items()}
