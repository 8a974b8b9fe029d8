"""List the file formats: they are discovered in this folder, and by entry points that name modules."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from checker.report.formats.format import Format
from zabspec.extras import is_there
from zabspec.joining import joined, load


def modules() -> list[str]:
    """Return the modules of this folder that may have a format."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
    return [f"{__package__}.{name}" for name in names if name not in ("format", "registry")]


@cache
def formats_of(kind: str) -> dict[str, Format]:
    """Return the formats in which results of a kind can be written, by name."""
    made = [import_module(name) for name in modules()]
    made += [load(point) for point in joined("formats").values() if not point.attr and is_there(point.module)]
    found: list[Format] = [module.FORMAT for module in made if hasattr(module, "FORMAT")]
    return {each.name: each for each in found if not each.kinds or kind in each.kinds}
