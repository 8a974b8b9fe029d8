"""Which tests may kill the mutants of a file: the cheapest that speak of it. Slow tests only where they are named."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch

__all__ = ["KILLERS", "LAST", "Killers", "killers_of"]

# Tests that hold exact counts of states. They kill nearly anything, and say least about what is wrong: they come last,
# so that a mutant killed by one of them is killed by nothing else here.
LAST = ("_counts",)


@dataclass(frozen=True)
class Killers:
    """
    Attributes:
        files: patterns of the files they are for.
        tests: what pytest is given: files, or tests by name.
        plain: whether the file's functions run as they are, so that a test which runs none of a mutant's lines in its
            own process cannot kill it. Texts of the language are compiled too.
        dearest: tests that take more CPU-seconds are left out, unless named.
        tables: whether they read tables.
        without: tests left out, by a part of their names: they never meet the file.
        late: tests run only of what all others left alive, by a part of their names: they cost much and kill little.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    plain: bool = False
    dearest: float = 1.5
    tables: bool = False
    without: tuple[str, ...] = ()
    late: tuple[str, ...] = ()


PAPER, GOLDEN, WORLDS, SPOKEN = (f"tests/test_{name}.py" for name in ("paper", "golden", "worlds", "premises"))
LAB = ("[datagrams]", "[ordered]")
RARE = ("[alone]", "[unordered]", "[duplicating]", "[re-elected]")
ZAB = ("[alone]", "[two]", "[cut]", "[three]", "[lossy]", "[unordered]", "[duplicating]", "[re-elected]")

KILLERS = (
    Killers(("zabspec/zab.py",), (PAPER, GOLDEN), without=LAB, late=RARE),
    Killers(("zabspec/history.py",), (PAPER, GOLDEN, "tests/test_history_abstraction.py")),
    Killers(("zabspec/worlds/actor.py", "zabspec/worlds/connections.py"), (PAPER, GOLDEN), without=LAB, late=RARE),
    Killers(("zabspec/worlds/scratch.py",), (PAPER, GOLDEN, "tests/test_traces.py")),
    Killers(("zabspec/worlds/datagrams.py",), ("tests/test_datagrams.py", GOLDEN), without=ZAB),
)


def killers_of(path: str) -> Killers:
    """The first entry for a file.

    Raises:
        KeyError: there is none.
    """
    for killers in KILLERS:
        if any(fnmatch(path, pattern) for pattern in killers.files):
            return killers
    raise KeyError(path)
