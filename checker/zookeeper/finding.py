"""A finding for ZooKeeper's committers: a repair, a test, and the results of both where they were run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from checker.errors import RequestError
from checker.zookeeper.repair import read_repair, repair_text

REPAIR, RUNS, UNGATED, SMALLER, FOLDER = "repair.json", "runs.json", "ungated.json", "smaller.md", "findings"
TESTS = "zookeeper-server/src/test/java"
# Another finding's repair, without which a repair does not mend.
BEHIND = {"trunc-epoch": ("snap-tail",)}
# A row whose harm the repair and the test of another one are for, too.
SHARED = {"trunc-snap": "trunc-epoch"}
PACKAGE = re.compile(r"^package ([\w.]+);$", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """A finding as it can be merged.

    Attributes:
        name: the row of the track record.
        shared: the row whose repair and test these are, if it is another one.
        behind: the rows whose repairs come before its own in `repair`.
        repair: the repair of the tag (`repair.py`), behind those that it needs, as JSON.
        test: the source of the JUnit test.
        test_name: its class.
        runs: what was printed where they were run (`benchmarks/zookeeper_findings.py` writes it).
        ungated: how often the harm happened on servers that run freely (`benchmarks/ungated.py` writes it).
        smaller: whether a smaller repair was found (benchmarks/results/zookeeper-repairs.md).
    """

    name: str
    shared: str
    behind: tuple[str, ...]
    repair: str
    test: str
    test_name: str
    runs: dict[str, Any]
    ungated: dict[str, Any]
    smaller: str

    @property
    def test_path(self) -> str:
        """The path of the test in ZooKeeper's sources."""
        package = PACKAGE.search(self.test)
        assert package is not None
        return f"{TESTS}/{package[1].replace('.', '/')}/{self.test_name}.java"

    @property
    def test_patch(self) -> str:
        """The test as a patch that adds its file."""
        lines = "".join(unified_diff([], self.test.splitlines(True), "/dev/null", f"b/{self.test_path}"))
        return f"diff --git a/{self.test_path} b/{self.test_path}\nnew file mode 100644\n{lines}"

    def digests(self) -> dict[str, str]:
        """Return the digests of what was run, by their names in `runs.json`."""
        return {"repair": digest_of(self.repair), "test": digest_of(self.test)}

    def check(self) -> None:
        """Check that the repair and the test are those that were run.

        Raises:
            RequestError: they are not.
        """
        if self.runs.get("sha256") != self.digests():
            raise RequestError(f"the repair or the test of ZK-{self.name} is not the one that was run")


def digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def findings() -> list[str]:
    """Return the rows for which there is a repair and a test."""
    return sorted(one.name for one in files("checker.zookeeper").joinpath(FOLDER).iterdir() if one.is_dir())


def finding_of(name: str) -> Finding:
    """Return a finding.

    Args:
        name: its row, with or without `ZK-`.

    Raises:
        RequestError: there is no repair of it.
    """
    row = name.removeprefix("ZK-").lower()
    if row not in findings():
        page = "; --html writes the page of a report" if name.endswith(".json") else ""
        raise RequestError(f"{name} is no finding that has a repair; those are {', '.join(said())}{page}")
    every, of = files("checker.zookeeper").joinpath(FOLDER), SHARED.get(row, row)
    folder = every.joinpath(of)
    test = next(one for one in folder.iterdir() if one.name.endswith("Test.java"))
    behind = BEHIND.get(of, ())
    parts = [read_repair(every.joinpath(one, REPAIR).read_text()) for one in (*behind, of)]
    repair = repair_text({file: places for part in parts for file, places in part.items()})
    runs, ungated = read(folder.joinpath(RUNS)), read(every.joinpath(row, UNGATED))
    name = test.name.removesuffix(".java")
    smaller = folder.joinpath(SMALLER).read_text().strip()
    return Finding(row, of if of != row else "", behind, repair, test.read_text(), name, runs, ungated, smaller)


def read(record: Traversable) -> dict[str, Any]:
    """Return a recorded result; empty if nothing was recorded."""
    found: dict[str, Any] = json.loads(record.read_text()) if record.is_file() else {}
    return found


def said() -> Iterator[str]:
    return (f"ZK-{name}" for name in findings())
