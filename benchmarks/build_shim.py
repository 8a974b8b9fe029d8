"""Build the libraries that are shipped of traces/zookeeper/reenact/shim.c, with `ziglang` as a cross compiler.

    pip install ziglang==0.17.1
    python -m benchmarks.build_shim

Each library has the digest of its source, to which a test holds it (tests/zookeeper/reenact/test_distributions.py).
They run with glibc 2.17 and later.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys

from traces.zookeeper.reenact.ensemble import BUILT, OPTIONS, SOURCE, built_shim


def main() -> None:
    """Build the library of each machine."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    for machine in BUILT:
        command = [
            sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-linux-gnu.2.17", *OPTIONS, "-s",
            "-fno-sanitize=undefined", f'-DSOURCE_DIGEST="{digest}"', "-o", str(built_shim(machine)), str(SOURCE),
            "-ldl",
        ]  # fmt: skip
        subprocess.run(command, check=True)
        print(built_shim(machine), digest)


if __name__ == "__main__":
    main()
