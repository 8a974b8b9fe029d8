"""Measure the cost for a new user: the size of an installation, and the README's first command, cold and warm.

    python -m benchmarks.first_run     # keeps benchmarks/results/first-run.json

It installs the source tree with pip into an empty environment, so it needs the package registry. "Cold" is the first
run after the installation, with an empty cache of machine code; "warm" is the best of three runs after it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figures

TOP = Path(__file__).parents[1]
COMMAND = ("zabcheck", "--nodes", "3", "--depth", "20")
LARGEST = 3  # packages that are listed by themselves


def size(folder: Path) -> int:
    """Return the bytes of all files below a folder, each counted once."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum({path.stat().st_ino: path.stat().st_size for path in files}.values())


def timed(program: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Run the command; return its CPU seconds and its seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([program, *COMMAND[1:]], check=False, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.monotonic() - start


def main() -> None:
    """Install the tree into a temporary environment, and measure."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "venv"
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        empty = size(place)
        pip = [place / "bin/pip", "install", "-q", "--disable-pip-version-check", TOP]
        subprocess.run(pip, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        packages = next((place / "lib").glob("python*")) / "site-packages"
        largest = sorted(((size(path), path.name) for path in packages.iterdir() if path.is_dir()), reverse=True)
        installed = size(place) - empty
        environment = {**os.environ, "ZABCHECK_CACHE": f"{scratch}/cache"}
        cold = timed(place / "bin/zabcheck", environment)
        warm = min(timed(place / "bin/zabcheck", environment) for _ in range(3))
    kept = Figures("first-run", "cost", ("what", "amount"))
    kept.add("installation", f"{installed / 1e6:.0f} MB")
    for bytes_, name in largest[:LARGEST]:
        kept.add(f"of it `{name}`", f"{bytes_ / 1e6:.0f} MB")
    for name, (cpu, seconds) in (("first run, which compiles", cold), ("later runs, best of three", warm)):
        kept.add(name, f"{cpu:.1f} s of CPU, {seconds:.1f} s")


if __name__ == "__main__":
    main()
