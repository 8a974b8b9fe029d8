"""A plugin of pytest: explorations as tests, with the counterexample in the failure.

A marked function becomes a test for each of its marks, in the order they are written:

    @pytest.mark.zabcheck("zab", nodes=2, txns=1, timeouts=1, crashes=0, losses=0)
    @pytest.mark.zabcheck("zab", variant="strict-rejoin", nodes=2, txns=1, timeouts=1, crashes=0, losses=0)
    def test_it_holds(zabcheck_explored):
        assert zabcheck_explored.exhausted

and a test may ask for `zabcheck_check`, which explores what it is called with. Either fails where the command would not
end with 0. Nothing of zabcheck is imported before a test explores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from checker.report.report import Explored

__all__ = ["pytest_configure", "pytest_generate_tests", "pytest_pyfunc_call", "zabcheck_check", "zabcheck_explored"]

MARK = "zabcheck"
FIXTURE = "zabcheck_explored"
MARKER = (
    "zabcheck(protocol='zab', **options): explore this configuration, and fail unless every property holds "
    "(zabcheck.explore)"
)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line("markers", MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each mark of a function."""
    marks = list(metafunc.definition.iter_markers(MARK))[::-1]
    if not marks:
        return
    if FIXTURE not in metafunc.fixturenames:
        metafunc.fixturenames.append(FIXTURE)  # it need not name the fixture to be a test
    metafunc.parametrize(FIXTURE, marks, ids=[title(m.args, m.kwargs) for m in marks], indirect=True)


def title(args: tuple[Any, ...], keywords: Mapping[str, Any]) -> str:
    """Return the part of a test's name that names its configuration."""
    words = [str(getattr(value, "name", value)) for value in args]
    return " ".join([*words, *(f"{name}={value}" for name, value in keywords.items())]) or "zab"


def asked(*args: Any, **options: Any) -> Explored:
    """Explore; a wrong question is an error of the test."""
    import zabcheck

    try:
        return zabcheck.explore(*args, **options)
    except (zabcheck.RequestError, zabcheck.NoVerdict, ImportError) as problem:
        pytest.fail(f"zabcheck: {problem}", pytrace=False)


def judged(found: Explored) -> Explored:
    """Return the result; fail the test where the command would not end with 0."""
    if not found.passed:
        shown = next((v.text for v in found.verdicts.values() if v.text), "")
        pytest.fail("\n\n".join(filter(None, (found.sentence, shown))), pytrace=False)
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Explore before the body of a marked test runs, and fail the test on a violation."""
    mark = pyfuncitem.callspec.params.get(FIXTURE) if hasattr(pyfuncitem, "callspec") else None
    if isinstance(mark, pytest.Mark):
        found: Any = pyfuncitem.funcargs.get(FIXTURE)
        judged(found or asked(*mark.args, **mark.kwargs))


@pytest.fixture
def zabcheck_explored(request: pytest.FixtureRequest) -> Explored:
    """Return the result of exploring the test's mark."""
    mark = getattr(request, "param", None)
    if not isinstance(mark, pytest.Mark):
        raise pytest.UsageError(f"{request.node.name}: the fixture {FIXTURE} is for tests marked with {MARK}(...)")
    return asked(*mark.args, **mark.kwargs)


@pytest.fixture
def zabcheck_check() -> Callable[..., Explored]:
    """Explores what it is called with, as `zabcheck.explore` does, and fails where it is not held."""

    def check(*args: Any, **options: Any) -> Explored:
        return judged(asked(*args, **options))

    return check
