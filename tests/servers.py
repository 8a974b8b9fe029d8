"""Real ZooKeeper servers for tests: of PySpark's jars, or of Maven's local repository."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from traces.reenact.distributions import Cannot, Release, find_release
from traces.spark.java import Java

SPARK = "3.9.5"  # the release of PySpark 4.3, which the extra `spark` installs: no test of it is skipped


def nowhere(name: str) -> Release:
    """A release that cannot be started."""
    return Release(name, Java(Path("/nowhere"), 17, "nowhere"), (), "nowhere")


@cache
def found(release: str) -> Release | str:
    try:
        return find_release(release)
    except Cannot as problem:
        return str(problem)


def official(release: str) -> Release:
    """The servers of a release; where Maven's repository does not have it, the test is skipped."""
    servers = found(release)
    if isinstance(servers, str):
        (pytest.fail if release == SPARK else pytest.skip)(servers)
        raise AssertionError
    return servers
