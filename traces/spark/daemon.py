"""What forks the processes that run Spark's Python tasks: pyspark's own daemon, with pyspark from its folder.

Spark puts an archive of pyspark before everything else on the path. What is in an archive is compiled by each process
that imports it, which takes longer than all else that such a process does before it works. Where the same pyspark is
installed as well, that one is taken.
"""

from __future__ import annotations

import os
import re
import sys
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path

__all__ = ["without_archives"]


def without_archives(paths: list[str]) -> list[str]:
    """A path of modules without Spark's archives, where what they have is on the rest of it; else the path itself."""
    archives = [path for path in paths if re.fullmatch(r"pyspark\.zip|py4j-[\d.]+-src\.zip", os.path.basename(path))]
    rest = [path for path in paths if path not in archives]
    try:
        same = all(is_installed(path, rest) for path in archives)
    except (OSError, KeyError, zipfile.BadZipFile):
        return paths
    return rest if same else paths


def is_installed(archive: str, rest: list[str]) -> bool:
    """Whether the package of an archive is on a path, of the same version.

    Raises:
        OSError, KeyError, BadZipFile: one of them does not say its version.
    """
    name = re.split(r"[-.]", os.path.basename(archive))[0]
    spec = PathFinder.find_spec(name, rest)
    if spec is None or spec.origin is None:
        return False
    said = Path(spec.origin).with_name("version.py").read_bytes()
    with zipfile.ZipFile(archive) as file:
        return said == file.read(f"{name}/version.py")


if __name__ == "__main__":
    sys.path[:] = without_archives(sys.path)
    from pyspark.daemon import manager

    manager()
