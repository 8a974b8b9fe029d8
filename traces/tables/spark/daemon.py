"""Run pyspark's daemon, which forks Python task processes, with pyspark from its folder instead of an archive.

Spark puts an archive of pyspark before everything else on the path. Each process that imports from an archive compiles
what it imports, which takes longer than anything else it does before it works. Where the same pyspark is installed as
well, that one is used.
"""

from __future__ import annotations

import os
import re
import sys
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path


def without_archives(paths: list[str]) -> list[str]:
    """Return a module path without Spark's archives if their contents are installed elsewhere on it; else unchanged."""
    archives = [path for path in paths if re.fullmatch(r"pyspark\.zip|py4j-[\d.]+-src\.zip", os.path.basename(path))]
    rest = [path for path in paths if path not in archives]
    try:
        same = all(is_installed(path, rest) for path in archives)
    except (OSError, KeyError, zipfile.BadZipFile):
        return paths
    return rest if same else paths


def is_installed(archive: str, rest: list[str]) -> bool:
    """Return whether the package of an archive is on a path, in the same version.

    Raises:
        OSError, KeyError, BadZipFile: one of them does not state its version.
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
