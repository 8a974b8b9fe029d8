"""The page: its files as they are served, and a single-file copy with the places around a walk."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from shlex import quote
from typing import Any

from checker.walk.served import Served
from traces.pages.colours import variables
from traces.pictures.svg import STYLE
from traces.walk.address import Address, way_text
from traces.walk.view import about, drawn, shown
from traces.walk.walker import WalkError, WalkPlace

# The modules of the page, each after those that it imports.
MODULES = (
    "dom.js",
    "address.js",
    "backend.js",
    "lanes.js",
    "steps.js",
    "state.js",
    "properties.js",
    "dialogs.js",
    "app.js",
)
STYLES = ("picture.css", "walk.css")
LARGEST = 24 << 20  # bytes of a saved page
MOST = 4000  # places in it
IMPORT = re.compile(r"^import \{[^}]*\} from \"\./[a-z]+\.js\";\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?function |const |class )", re.MULTILINE)


def read(name: str) -> str:
    """Return the content of a file of the page."""
    if name == "picture.css":
        return f"{variables()}{STYLE}"
    return files(__package__).joinpath("assets", name).read_text("utf-8")


# The files of the page beside itself, each with its media type.
ASSETS: Mapping[str, str] = {
    **dict.fromkeys(MODULES, "text/javascript; charset=utf-8"),
    **dict.fromkeys(STYLES, "text/css; charset=utf-8"),
    "icon.svg": "image/svg+xml",
}


def index() -> str:
    """Return the page as a server sends it."""
    links = '<link rel="icon" href="/assets/icon.svg">\n'
    links += "".join(f'<link rel="stylesheet" href="/assets/{name}">\n' for name in STYLES)
    return whole(links, '<script type="module" src="/assets/app.js"></script>')


def whole(head: str, end: str) -> str:
    """Return the page with its styles and modules."""
    return read("index.html").replace("<!-- head -->\n", head).replace("<!-- end -->", end)


@cache
def joined() -> str:
    """Return the modules as one: what each exports is a name that the later ones see."""
    text = "\n".join(EXPORT.sub("", IMPORT.sub("", read(name))) for name in MODULES)
    return text.replace("</script", "<\\/script")


# --- a page in one file ----------------------------------------------------------------------------


@dataclass(frozen=True)
class SavedPage:
    """A page without a server.

    Attributes:
        text: the page.
        said: a sentence on its content.
    """

    text: str
    said: str


def saved_page(
    found: Served, address: Address, whole_way: WalkPlace, levels: int, told: Mapping[str, Any] | None = None
) -> SavedPage:
    """Return a walk, and the places around each of its own, as one file.

    Args:
        found: the model.
        address: the current place on the walk.
        whole_way: the place at its end.
        levels: the distance from the walk, in steps, up to which places are in the file.
        told: the facts about the model at every place; None for those of `about`.

    Raises:
        WalkError: it would be too large.
    """
    places = around(whole_way, levels)
    parts: dict[str, int] = {}
    views = {}
    for way, place in places.items():
        on_walk = way == whole_way.path[: len(way)]
        picture = drawn(whole_way, len(way)) if on_walk else drawn(place, len(way))
        for kind in ("desk", "phone"):
            picture[kind]["body"] = pieces(picture[kind]["body"], parts)
        picture["rows"] = [parts.setdefault(json.dumps(row), len(parts)) for row in picture["rows"]]
        views[way_text(way)] = {**shown(place), "picture": picture}
    data = {
        "address": found.address(whole_way.path, address.at).text,
        "command": f"zabcheck walk {quote(found.address(whole_way.path, address.at).text)}",
        "about": about(found.walker) if told is None else told,
        "levels": levels,
        "parts": list(parts),
        "views": views,
    }
    packed = base64.b64encode(gzip.compress(json.dumps(data, separators=(",", ":")).encode(), 9, mtime=0)).decode()
    styles = "".join(f"<style>{read(name)}</style>\n" for name in STYLES)
    kept = f'<script type="application/octet-stream" id="saved">{packed}</script>'
    end = f'{kept}\n<script type="module">\n{joined()}</script>'
    text = whole(styles, end)
    if len(text) > LARGEST:
        raise WalkError(f"the page would have {len(text) >> 20} MB, and may have {LARGEST >> 20}: save fewer levels")
    steps = len(whole_way.path)
    return SavedPage(text, f"{steps} steps with {len(places) - steps - 1} states around them, {len(text) / 1e6:.1f} MB")


def around(end: WalkPlace, levels: int) -> dict[tuple[int, ...], WalkPlace]:
    """Return the places of a walk and those up to some levels away from it.

    Raises:
        WalkError: these are too many.
    """
    walker = end.walker
    out: dict[tuple[int, ...], WalkPlace] = {}
    place: WalkPlace | None = end
    while place is not None:
        out[place.path] = place
        place = place.parent
    edge = list(out.values())
    for _ in range(levels):
        edge = [walker.after(p, s.index) for p in edge for s in p.possible if s.failure is None]
        edge = [p for p in edge if p.path not in out]
        out |= {p.path: p for p in edge}
        if len(out) > MOST:
            raise WalkError(f"there are more than {MOST} states around this walk: save fewer levels, or a shorter walk")
    return out


def pieces(drawing: str, parts: dict[str, int]) -> list[int]:
    """Return a drawing as the numbers of its elements: consecutive places share nearly all of them."""
    return [parts.setdefault(piece, len(parts)) for piece in re.split(r"(?<=>)(?=<)", drawing)]


def opened(text: str) -> dict[str, Any]:
    """Return the data of a saved page."""
    packed = text.split('id="saved">', 1)[1].split("</script>", 1)[0]
    data: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return data
