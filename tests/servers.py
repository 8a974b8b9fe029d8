"""Real ZooKeeper servers for tests: of PySpark's jars, or of Maven."""

from __future__ import annotations

import fcntl
import os
import subprocess
import zipfile
from functools import cache
from pathlib import Path

import pytest

from traces.java import Java
from traces.zookeeper.reenact.distributions import Cannot, Release, find_release, of_maven, write_poms
from zabspec.language.native.jit import cache_folder

CLASS_PATH = "dependency:build-classpath"
SPARK = "3.9.5"  # the release of PySpark 4.3, which the extra `spark` installs: no test of it is skipped


def nowhere(name: str) -> Release:
    """A release that cannot be started."""
    return Release(name, Java(Path("/nowhere"), 17, "nowhere"), (), "nowhere")


@cache
def found(release: str) -> Release | str:
    try:
        return find_release(release)
    except Cannot as problem:
        return find_release(release) if fetched(release, CLASS_PATH) else str(problem)


def fetched(release: str, goal: str, of_all: bool = True) -> bool:
    """Get what is of a release from Maven, if this run of the tests may: product and tests download nothing else.

    Args:
        of_all: of what the server needs, too. A class path of the server alone starts none.
    """
    if not os.environ.get("ZABCHECK_MAVEN"):
        return False
    pom = write_poms([release])
    with (cache_folder() / "servers" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two must not write to Maven's local repository at once
        command = ["mvn", "-q", "-B", "-f", str(pom), goal, *([] if of_all else ["-DincludeArtifactIds=zookeeper"])]
        return subprocess.run(command, check=False, capture_output=True, timeout=600).returncode == 0


@cache
def sources_of(release: str) -> zipfile.ZipFile:
    """The sources of a release; where Maven's repository does not have them, the test is skipped."""
    for _ in range(2):
        jars = of_maven([release]).get(release)
        path = jars[0].with_name(f"{jars[0].stem}-sources.jar") if jars else None
        if path and path.is_file():
            return zipfile.ZipFile(path)
        if not fetched(release, CLASS_PATH) or not fetched(release, "dependency:sources", of_all=False):
            break
    pytest.skip(f"Maven's local repository has no sources of ZooKeeper {release} (ZABCHECK_MAVEN=1 gets them)")


def official(release: str) -> Release:
    """The servers of a release; where Maven's repository does not have it, the test is skipped."""
    servers = found(release)
    if isinstance(servers, str):
        (pytest.fail if release == SPARK else pytest.skip)(servers)
        raise AssertionError
    return servers
