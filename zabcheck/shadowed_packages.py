"""Whether the packages beside this one are the ones that Python finds: their names are not ours alone."""

from __future__ import annotations

import os
import sys

__all__ = ["PACKAGES", "in_the_way"]

PACKAGES = ("checker", "invariants", "traces", "zabspec", "zabcheck")
# The first line of each `__init__.py`: pip installs another project's package of the same name over ours.
OURS = b"# One of zabcheck's five packages.\n"


def in_the_way() -> str:
    """Return one sentence about a package of ours that another replaces, shadows or has taken along; empty if none."""
    top = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    for name in PACKAGES:
        folder, found = os.path.join(top, name), place(name)
        if not found or os.path.realpath(found) == folder:
            again = "pip install --force-reinstall zabcheck"
            return f"zabcheck's package {name} is missing, as after `pip uninstall {name}`: reinstall it with `{again}`"
        if os.path.realpath(found) != os.path.join(folder, "__init__.py"):
            return f"{found} shadows zabcheck's package {name}: rename it, or run from another folder"
        if os.path.isfile(found):  # else it is in a zip file, which pip does not write to
            with open(found, "rb") as file:
                if file.read(len(OURS)) != OURS:
                    apart = "install zabcheck in an environment of its own, as `pipx install zabcheck` does"
                    return f"another project's package {name} was installed over zabcheck's: {apart}"
    return ""


def place(name: str) -> str:
    """Return the file or folder from which Python loads a package; empty: no such package."""
    from importlib.util import find_spec

    module = sys.modules.get(name)
    if module is not None:
        paths = list(getattr(module, "__path__", ()))
        return getattr(module, "__file__", None) or (str(paths[0]) if paths else "a module made while running")
    spec = find_spec(name)
    if spec is None:
        return ""
    return spec.origin or next(iter(spec.submodule_search_locations or ()), "")
