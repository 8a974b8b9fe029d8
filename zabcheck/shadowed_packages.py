"""Whether the packages beside this one are the ones that Python finds: their names are not ours alone."""

from __future__ import annotations

import os
import sys

__all__ = ["PACKAGES", "in_the_way"]

PACKAGES = ("checker", "invariants", "traces", "zabspec")


def in_the_way() -> str:
    """One sentence that says what stands in the way of one of our packages; empty: nothing does."""
    top = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    for name in PACKAGES:
        found = place(name)
        if not found:
            return f"zabcheck's own package {name} is missing: reinstall zabcheck"
        if os.path.realpath(found) != os.path.join(top, name, "__init__.py"):
            return f"{found} shadows zabcheck's package {name}: rename it, or run from another folder"
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
