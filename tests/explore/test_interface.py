"""The names that kernels import: each is declared once, with type and contract, and bound to what it is declared as."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checker.explore import compiled, interface, kernel, orbits
from checker.explore.binding import Constant, WrongBinding, is_declared
from checker.explore.compiled import Compiled
from checker.explore.reduce import ample_kernel, observer_kernel
from checker.explore.reduce.ample import Narrowing
from checker.live import kernel as live_kernel
from checker.live.code import LiveCode
from checker.search import kernel as search_kernel
from checker.search.code import SearchCode
from checker.tables.distributed import kernel as distributed_kernel
from checker.tables.distributed.code import AmpleCode, Code, WideCode
from tests.models import judged
from zabspec.model import Configuration, Model

KERNELS = (kernel, orbits, ample_kernel, observer_kernel, distributed_kernel, search_kernel, live_kernel)
SMALL = Configuration(nodes=2, txns=1, timeouts=0, crashes=0, losses=0)
JUDGED = judged("zab")[:2]
DECLARED = {name: value for name, value in vars(interface).items() if is_declared(value)}


def typed(kind: type[Compiled] = Compiled) -> None:
    """Bind the names of a small model without compiling it."""
    code = object.__new__(kind)
    with pytest.raises(Bound):
        kind.__init__(code, Model(SMALL), JUDGED, True)


class Bound(Exception):
    """All names are bound: there the constructor ends."""


@pytest.fixture(autouse=True)
def _stop_before_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def settling(key: str, make: Callable[[], object], *rest: object) -> None:
        make()
        raise Bound

    monkeypatch.setattr(compiled, "TieredCode", settling)


# --- the declarations ---------------------------------------------------------------------------


def test_a_declaration_says_what_it_is_bound_to() -> None:
    for name, value in DECLARED.items():
        if isinstance(value, Constant):
            assert interface.__annotations__[name] in ("int", "bool"), name
        assert value.doc if isinstance(value, Constant) else value.__doc__, name


def test_every_declared_name_is_imported_by_a_kernel() -> None:
    imported = {name for module in KERNELS for name, value in vars(module).items() if is_declared(value)}
    replaced = {hook.__name__ for hook in interface.HOOKS}
    assert DECLARED.keys() - imported - replaced == set()


# --- what is bound ------------------------------------------------------------------------------


@pytest.mark.slow(seconds=1)
@pytest.mark.parametrize("kind", [Compiled, Narrowing, Code, WideCode, AmpleCode, SearchCode, LiveCode])
def test_every_kernel_is_bound(kind: type[Compiled]) -> None:
    if kind is SearchCode:
        with pytest.raises(Bound):
            SearchCode(Model(SMALL), JUDGED)
    else:
        typed(kind)


@pytest.mark.parametrize(
    ("name", "imported", "said"),
    [
        ("is_free", interface.is_free, "is_free is imported by checker.explore.kernel, and nothing is bound"),
        ("AMPLE_AT", interface.AMPLE_AT, "AMPLE_AT is imported by checker.explore.kernel, and nothing is bound"),
        ("unpacked", interface.unpack, "unpacked of checker.explore.kernel is declared under another name$"),
    ],
)
def test_a_name_that_nothing_is_bound_to_is_refused(
    name: str, imported: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, name, imported, raising=False)
    with pytest.raises(WrongBinding, match=f"^{said}"):
        Compiled(Model(SMALL), JUDGED, False)


def with_more(text: str) -> type[Compiled]:
    """What a kernel is compiled with, and a function more."""

    class More(Compiled):
        def also_text(self) -> str:
            return text

    return More


def test_a_name_that_is_bound_and_not_declared_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongBinding, match=r"^twice is bound for the kernels, and checker.explore.interface does not"):
        with_more("def twice(a: int) -> int:\n    return 2 * a")(Model(SMALL), JUDGED, False)
    monkeypatch.delattr(interface, "MARGIN")
    with pytest.raises(WrongBinding, match=r"^MARGIN is bound for the kernels, and checker.explore.interface does not"):
        Compiled(Model(SMALL), JUDGED, False)


def test_a_name_that_is_bound_with_another_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WrongBinding, match=r"^class_of is declared as \(int\) -> int, and bound to \(int, int\)"):
        with_more("def class_of(word: int, more: int) -> int:\n    return word")(Model(SMALL), JUDGED, False)

    class Number(Compiled):
        @property
        def numbers(self) -> dict[str, int]:  # type: ignore[override]
            return {**super().numbers, "SYMMETRY": 1}

    with pytest.raises(WrongBinding, match=r"^SYMMETRY is declared as bool, and bound to int$"):
        Number(Model(SMALL), JUDGED, False)
