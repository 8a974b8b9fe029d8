"""A trace as a picture: a space-time diagram as SVG or PNG, and a page of HTML to walk through.

Start with `picture.py`, what there is to draw; then `geometry.py`, `svg.py` and `html.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from traces.record.trace import Trace

__all__ = ["PICTURES", "to_html", "to_png", "to_svg"]


def to_html(trace: Trace) -> str:
    """One page of HTML that needs nothing else: the diagram, a walk through its steps, and all of it as text.

    Raises:
        TraceError: the trace does not break the property that it is said to break.
    """
    from traces.pictures.html import page

    return page(trace)


def to_svg(trace: Trace) -> str:
    """The diagram with the sentence why above it, as an SVG document.

    Raises:
        TraceError: as `to_html`.
    """
    from traces.pictures.picture import picture_of
    from traces.pictures.svg import document

    return document(picture_of(trace))


def to_png(trace: Trace) -> bytes:
    """The same, rasterised.

    Raises:
        TraceError: as `to_html`.
        NoRasterizer: what rasterises is not installed, or this machine has no font to write with.
    """
    from traces.pictures.png import rasterised

    return rasterised(to_svg(trace))


# By the name of the format; what draws is imported when it is asked for.
PICTURES: dict[str, Callable[[Trace], bytes]] = {
    "html": lambda trace: to_html(trace).encode(),
    "svg": lambda trace: to_svg(trace).encode(),
    "png": to_png,
}
