"""Rasterise an SVG document to PNG."""

from __future__ import annotations

from zabspec.errors import RequestError
from zabspec.extras import missing

ZOOM = 2.0  # pixels of the PNG for each of the SVG
LETTER = "<svg xmlns='http://www.w3.org/2000/svg' width='20' height='20'>{}</svg>"
WRITTEN = '<text x="2" y="16" font-family="{}">p</text>'  # in the fonts of the pictures: others do not matter


class NoRasterizer(RequestError):
    """A PNG cannot be made; the message says in one sentence what is missing."""


def rasterised(svg: str) -> bytes:
    """Return the document as PNG in light colours, two pixels per unit of the SVG.

    Raises:
        NoRasterizer: the rasteriser is not installed, or this machine has no font.
    """
    if lacking := missing("resvg_py"):
        raise NoRasterizer(f"a PNG needs {lacking}; --to svg and --to html work without it")
    import resvg_py

    from traces.pictures.svg import FONT  # here: commands that draw nothing catch `NoRasterizer`

    empty, written = (
        bytes(resvg_py.svg_to_bytes(svg_string=LETTER.format(inside))) for inside in ("", WRITTEN.format(FONT))
    )
    if empty == written:  # it would silently leave out all text
        raise NoRasterizer(
            "this machine has no font for a PNG (Debian's fonts-dejavu-core has some); --to svg needs none"
        )
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=ZOOM))
