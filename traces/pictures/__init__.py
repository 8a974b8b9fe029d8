"""Draw a trace: a space-time diagram as SVG, and a page of HTML to walk through.

Start with `picture.py`, what there is to draw; then `geometry.py`, `svg.py` and `html.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from traces.record.trace import DRAWN, Trace
from zabspec.language.layout.notation import naming_processes

if TYPE_CHECKING:
    from traces.pictures.picture import Cone


@naming_processes
def to_html(trace: Trace, cone: Cone | None = None) -> str:
    """Return a self-contained page of HTML: the diagram, a walk through its steps, and all of it as text.

    Args:
        cone: the step whose cone is drawn; None to draw everything alike.

    Raises:
        TraceError: the trace does not violate the property that it names.
    """
    from traces.pictures.html import page

    return page(trace, cone)


@naming_processes
def to_svg(trace: Trace, cone: Cone | None = None) -> str:
    """Return the diagram as an SVG document, with the explanation of the violation above it.

    Args:
        trace: the trace.
        cone: the step whose causal cone is highlighted; None for no highlight.

    Raises:
        TraceError: the trace does not violate the property that it names.
    """
    from traces.pictures.picture import picture_of
    from traces.pictures.svg import document

    return document(picture_of(trace, cone))


DRAWN.append(to_svg)  # for notebooks

PICTURES: dict[str, Callable[[Trace, Cone | None], str]] = {"html": to_html, "svg": to_svg}  # by the name of the format
