"""Put the library that holds a server's threads (shim.c) where a server can load it.

It is shipped built for the machines in `BUILT`, so that no compiler is needed; elsewhere it is compiled.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from traces.zookeeper.reenact.distributions import Cannot

HERE = Path(__file__).parent
SOURCE = HERE / "shim.c"
BUILT = ("x86_64", "aarch64")  # with glibc
OPTIONS = ("-shared", "-fPIC", "-O1")


def built_shim(machine: str) -> Path:
    """Return the path of the shipped library for a machine, as `platform.machine` calls it."""
    return HERE / f"shim-{machine}.so"


def place_shim(folder: Path) -> Path:
    """Write the library to a folder, and return its path.

    Raises:
        Cannot: there is none for this machine, or the loader could not find it: it breaks LD_PRELOAD at blanks and
            colons.
    """
    out, machine = folder / "shim.so", platform.machine()
    if set(str(out)) & set(" \t\n:"):
        raise Cannot(f"the library that holds threads cannot lie in {folder}: its name has a blank or a colon")
    if machine in BUILT and platform.libc_ver()[0] == "glibc":
        shutil.copyfile(built_shim(machine), out)
        return out
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise Cannot(
            f"the library that holds a server's threads is shipped for glibc on {' and '.join(BUILT)}; on {machine} it "
            "needs a C compiler, and there is no `cc`, `gcc` or `clang` here"
        )
    command = [compiler, *OPTIONS, "-o", str(out), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Cannot(f"the library that holds threads does not compile: {done.stderr.strip().splitlines()[-1]}")
    return out
