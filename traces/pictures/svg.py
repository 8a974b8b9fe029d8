"""Draw a picture as self-contained SVG, in light or dark by the reader's screen, with explanation and legend."""

from __future__ import annotations

import math
from collections.abc import Iterator

from traces.explain.flights import Fate
from traces.pages.colours import DARK, PALETTE, scheme
from traces.pages.markup import Attributes, tag, text
from traces.pictures.geometry import BAND, LETTER, LINE, SAID, Geometry, Placed, Unreceived, folded, geometry_of
from traces.pictures.picture import Arrow, Picture, Stretch
from traces.pictures.signs import SIGNS, hue, legend, mark
from zabspec.language.layout.notation import process_name

FONT = "Arial, 'Liberation Sans', Helvetica, system-ui, 'DejaVu Sans', sans-serif"  # narrow ones first


def colours(dark: bool) -> str:
    """Return the style rules for the colours of a picture."""
    of = scheme(dark)
    paper, ink, faint, rule, bad, tint, chosen = (
        of[name] for name in ("paper", "ink", "faint", "rule", "bad", "tint", "link")
    )
    rules = [
        f".zp .paper{{fill:{paper}}}.zp text{{fill:{ink};stroke:none}}.zp .halo{{stroke:{paper}}}",
        f".zp .faint{{fill:{faint}}}.zp .rule{{stroke:{rule}}}.zp .bad{{fill:{bad}}}.zp .badline{{stroke:{bad}}}",
        f".zp .fault{{stroke:{ink};stroke-width:2.2px;fill:none}}",
        f".zp .tint{{fill:{tint}}}.zp .open{{fill:{paper}}}.zp .inv{{fill:{paper}}}",
        f".zp .chosen .hit{{stroke:{chosen};stroke-width:2px}}",
    ]
    for k, (line, pale, night, deep) in enumerate(PALETTE):
        a, b = (night, deep) if dark else (line, pale)
        rules.append(f".zp .l{k}{{stroke:{a}}}.zp .f{k}{{fill:{a}}}.zp .t{k}{{fill:{b}}}")
    rules.append(f".zp .l-none{{stroke:{faint}}}.zp .f-none{{fill:{faint}}}.zp .t-none{{fill:{rule}}}")
    return "".join(rules)


STYLE = (
    f".zp{{font-family:{FONT};font-size:11.5px}}.zp .halo{{stroke-width:3.5px;stroke-linejoin:round;fill:none}}"
    ".zp .strong{font-weight:700}.zp .role{font-size:11px}.zp .arrow{fill:none;stroke-width:1.3px}"
    ".zp .named{stroke-width:2.6px}.zp .dash{stroke-dasharray:4 3}.zp .hit{fill:transparent}"
    ".zp .title{font-size:17px;font-weight:700}"
    f".zp .why{{font-size:14px;font-weight:600}}{colours(False)}{DARK}{{{colours(True)}}}"
)


def document(picture: Picture) -> str:
    """Return the whole picture as a document: the violation and its explanation, the legend, and the diagram."""
    g = geometry_of(picture)
    width = max(g.width, 640)
    head, at = [], 30.0
    for said, how, letter in header(picture):
        for line in folded(said, int((width - 40) / letter)):
            head.append(tag("text", {"class": how, "x": 20, "y": at}, text(line)))
            at += 22 if how.startswith(("title", "why")) else 17
    signs, below = legend(picture, width, at)
    body = tag("g", {"transform": f"translate(0 {below + 6:.0f})"}, diagram(picture, g))
    height = below + 6 + g.height
    inside = (
        tag("title", {}, text(f"{picture.title}. {picture.why}"))
        + tag("desc", {}, text(" ".join(f"{r.number}. {r.headline}." for r in picture.rows)))
        + tag("style", {}, STYLE)
        + tag("rect", {"class": "paper", "width": width, "height": height})
        + "".join(head)
        + signs
        + body
    )
    size: Attributes = {"width": width, "height": height, "viewBox": f"0 0 {width:.0f} {height:.0f}"}
    return tag("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": "zp", "role": "img", **size}, inside) + "\n"


def header(picture: Picture) -> Iterator[tuple[str, str, float]]:
    """Yield the lines above the diagram: text, style class, and the width of a letter in pixels."""
    yield picture.title, "title bad" if picture.why else "title", 9.5
    if picture.why:
        yield picture.why, "why", 7.9
    if picture.statement:
        yield f"{picture.statement} [{picture.source}]", "faint", 6.3
    for rule in (*picture.changed, *picture.before):
        yield rule, "strong", 6.9
    if picture.cone is not None:
        yield f"Faint steps: no chain of messages leads from them to step {picture.cone.step}.", "strong", 6.9
    yield f"{picture.configuration}; zabcheck {picture.tool}", "faint", 6.3


# --- the diagram -----------------------------------------------------------------------------------


class Pen:
    """Writes text beside the lines of a diagram, here as text of the picture."""

    def write(
        self, said: str, x: float, y: float, how: str = "", anchor: str = "start", step: int | None = None
    ) -> str:
        """Return the text as markup among the lines.

        Args:
            said: the text. how: its style classes.
            x, y: where it begins (`start`; `column` for one beside all lanes), ends (`end`) or has its middle
                (`middle`), and its baseline.
            anchor: which of these.
            step: the step to which it belongs.
        """
        place: Attributes = {"x": x, "y": y, **({"text-anchor": anchor} if anchor in ("middle", "end") else {})}
        under = tag("text", {"class": f"halo {how}".strip(), **place}, text(said)) if anchor in ("start", "end") else ""
        return under + tag("text", {**({"class": how} if how else {}), **place}, text(said))

    def turned(self, said: str, x: float, y: float) -> str:
        """Return text written upwards along a lane, centred at a position."""
        where: Attributes = {"transform": f"translate({x + 4:.1f} {y:.1f}) rotate(-90)"}
        return tag("text", {"class": "strong role", "text-anchor": "middle", **where}, text(said))


def diagram(picture: Picture, g: Geometry, pen: Pen | None = None, part: tuple[float, float] = (0, math.inf)) -> str:
    """Return the lanes and what happens on them, as markup.

    Args:
        picture: the picture.
        g: its layout.
        pen: writes the text; by default as text of the picture.
        part: the pixel rows to draw, from and to; what lies partly inside is drawn whole.
    """
    pen, (top, bottom) = pen or Pen(), part
    rows = [p for p in g.rows if top <= p.top < bottom]

    def inside(start: float, end: float) -> bool:
        return start <= bottom and end >= top

    parts = [background(p, g) for p in rows]
    parts += [lane(s, g, pen, part) for s in picture.stretches if inside(g.y(s.start), g.y(s.end))]
    if top <= 0:
        parts += [pen.write(name, g.lanes[k], 20, "strong", "middle") for k, name in enumerate(picture.lanes)]
    received = [a for a in picture.arrows if a.flight.fate not in SAID]
    for a in sorted(received, key=lambda a: a.named):
        if inside(g.y(a.flight.sent), g.y(a.flight.ended or 0)):
            parts.append(faintly(arrow(a, g), picture, a.flight.sent, a.flight.ended))
    parts += [faintly(foreground(p, g, pen), picture, p.row.number) for p in rows]
    if picture.loop is not None and inside(g.y(picture.loop + 1), g.y(len(g.rows))):
        parts.append(loop(picture.loop, g, pen, part))
    return "".join(parts)


def outside(picture: Picture, *steps: int | None) -> bool:
    """Return whether any of some steps is outside the cone."""
    return picture.cone is not None and not picture.cone.outside.isdisjoint(steps)


def faintly(drawn: str, picture: Picture, *steps: int | None) -> str:
    """Draw markup of some steps faintly if one of them is outside the cone."""
    return tag("g", {"opacity": "0.2"}, drawn) if outside(picture, *steps) else drawn


def loop(after: int, g: Geometry, pen: Pen, part: tuple[float, float]) -> str:
    """Return the line from the last step back to the first step of the loop, as markup."""
    x, top, bottom = 12.0, g.y(after + 1), g.y(len(g.rows)) if after + 1 < len(g.rows) else g.y(len(g.rows) + 1)
    line = f"M{g.gutter - 36:.1f} {bottom:.1f}H{x + 6:.1f}Q{x:.1f} {bottom:.1f} {x:.1f} {bottom - 6:.1f}"
    line += f"V{top + 6:.1f}Q{x:.1f} {top:.1f} {x + 6:.1f} {top:.1f}H{g.gutter - 40:.1f}"
    tip = f"M{g.gutter - 35:.1f} {top:.1f}l-8 -4v8Z"
    hint = tag("title", {}, text(f"steps {after + 1} to {len(g.rows)} repeat forever"))
    out = hint + tag("path", {"class": "arrow badline named", "d": line}) + tag("path", {"class": "bad", "d": tip})
    middle = (max(top, part[0]) + min(bottom, part[1])) / 2
    room = min(bottom, part[1]) - max(top, part[0])
    return tag("g", {"class": "loop"}, out) + (pen.turned("for ever", x - 6, middle) if room > 70 else "")


def background(p: Placed, g: Geometry) -> str:
    """Return the ground of a row, which a click selects, as markup."""
    place = {"x": 0, "y": p.top, "width": g.width, "height": p.height}
    ground = tag("rect", {"class": "tint", **place}) if p.row.named else ""
    line = {"x1": 0, "x2": g.width, "y1": p.top, "y2": p.top}
    return tag(
        "g", {"class": "ground", "data-step": str(p.row.number)},
        ground + tag("rect", {"class": "hit", **place}) + tag("line", {"class": "rule", **line}),
    )  # fmt: skip


def lane(s: Stretch, g: Geometry, pen: Pen, part: tuple[float, float]) -> str:
    """Return a stretch of a lane: its epoch as colour, its role along it. A crashed process has neither."""
    x, top, bottom = g.lanes[s.process], max(g.y(s.start), part[0]), min(g.y(s.end), part[1])
    if s.down:
        return tag("line", {"class": "fault dash", "x1": x, "x2": x, "y1": top, "y2": bottom})
    place = {"x": x - BAND / 2, "y": top, "width": BAND, "height": max(0.0, bottom - top)}
    hint = ", ".join(([s.role] if s.role else []) + ([f"epoch {s.epoch}"] if s.epoch is not None else []))
    out = tag("rect", {"class": f"t{hue(s.epoch)}", **place}, tag("title", {}, text(hint)) if hint else "")
    gaps = g.gaps(s, part) if s.role else []
    said = -math.inf
    for a, b in gaps:  # repeated where the last one is far away
        y = (a + b) / 2
        if y - said > 300:
            out += pen.turned(s.role, x, y)
            said = y
    begins = g.y(s.start)
    if s.role and s.start and part[0] <= begins < part[1] and not g.gaps(s) and not g.beside:
        # too short, or too crowded: it is written where the stretch begins
        side = g.role_side(s)
        out += haloed(pen, s.role, x + side * (BAND / 2 + 4), begins - 4, side, "strong role", s.start)
    return out


def arrow(a: Arrow, g: Geometry) -> str:
    """Return the arrow of a message that was received, from its sending to its receipt."""
    f = a.flight
    x1, x2 = g.lanes[f.message.source], g.lanes[f.message.destination]
    y1, y2 = g.y(f.sent), g.y(f.ended or 0)
    how = f"arrow l{hue(a.epoch)}" + (" named" if a.named else "") + (" dash" if f.fate is Fate.COPIED else "")
    if f.message.source == f.message.destination:
        out = BAND / 2
        bulge = x1 - out - min(BAND if g.beside else 40, 14 + 0.12 * (y2 - y1))
        path = f"M{x1 - out:.1f} {y1:.1f}C{bulge:.1f} {y1 + 4:.1f} {bulge:.1f} {y2 - 4:.1f} {x2 - out - 3:.1f} {y2:.1f}"
        drawn, tip = tag("path", {"class": how, "d": path}), head(x2 - out, y2, 0.25, a)
    else:
        way = 1 if x2 > x1 else -1
        x1, x2 = x1 + way * BAND / 2, x2 - way * BAND / 2
        drawn = tag("line", {"class": how, "x1": x1, "y1": y1, "x2": x2 - way * 3, "y2": y2 - 0.5})
        tip = head(x2, y2, math.atan2(y2 - y1, x2 - x1), a)
    ends = f"{a.text}, sent in step {f.sent}, {f.fate.value} in step {f.ended}"
    return tag("g", {"data-step": str(f.ended)}, tag("title", {}, text(ends)) + drawn + tip)


def head(x: float, y: float, angle: float, a: Arrow) -> str:
    """Return the head of an arrow, with its point at a position."""
    size = 10 if a.named else 8
    points = [(x, y)] + [
        (x - size * math.cos(angle + turn), y - size * math.sin(angle + turn)) for turn in (0.42, -0.42)
    ]
    return tag("path", {"class": f"f{hue(a.epoch)}", "d": "M" + "L".join(f"{u:.1f} {v:.1f}" for u, v in points) + "Z"})


def foreground(p: Placed, g: Geometry, pen: Pen) -> str:
    """Return a step as markup: its number, dot and label, and its messages that were never received."""
    row, parts = p.row, []
    if row.named:
        parts.append(tag("circle", {"class": "bad", "cx": g.gutter - 22, "cy": p.y, "r": 12}))
    how = "strong inv" if row.named else "faint"
    parts.append(pen.write(str(row.number), g.gutter - 22, p.y + 4, how, "middle", row.number))
    lanes = [g.lanes[k] for k in row.processes] or [g.lanes[0], g.lanes[-1]]
    if len(lanes) > 1:
        ends = {"x1": min(lanes), "x2": max(lanes), "y1": p.y, "y2": p.y}
        parts.append(tag("line", {"class": "fault dash", **ends}))
    parts += [dot(x, p) for x in lanes]
    x, at = g.beside or lanes[0], p.y + 4 + (LINE if len(row.processes) != 1 else 0)
    for line in p.lines:
        bold = line.named or line.what not in ("label", "accept")
        how = " ".join(filter(None, [("strong" if bold else ""), ("bad" if line.named else "")]))
        sign = SIGNS.get(line.what, "")
        if sign and line.first:
            parts.append(mark(sign, x + p.side * 17, at - 4, line.named))
        parts.append(haloed(pen, line.text, x + p.side * (26 if sign else 14), at, p.side, how, row.number))
        at += LINE
    for u in p.unreceived:
        parts.append(never(u, lanes[0], at - 4, p.side, g, pen))
        at += LINE * len(u.lines)
    if g.width > g.column:
        for k, (said, bad) in enumerate(p.column):
            weight = "strong bad" if bad and k else "strong" if bad else ""
            parts.append(pen.write(said, g.column, p.y + 4 + k * LINE, weight, "column", row.number))
    return tag("g", {"class": "step", "data-step": str(row.number)}, "".join(parts))


def dot(x: float, p: Placed) -> str:
    """Return the sign of a step on a lane; a fault is a cross."""
    if p.row.fault:
        d = f"M{x - 6:.1f} {p.y - 6:.1f}l12 12m0 -12l-12 12"
        return tag("path", {"class": "fault", "d": d})
    return tag("circle", {"class": "bad" if p.row.named else "f0", "cx": x, "cy": p.y, "r": 4})


def haloed(pen: Pen, said: str, x: float, y: float, side: int, how: str, step: int) -> str:
    """Return text with a halo, so that it stands out from what it covers."""
    return pen.write(said, x, y, how, "start" if side > 0 else "end", step)


def never(u: Unreceived, x: float, y: float, side: int, g: Geometry, pen: Pen) -> str:
    """Return messages that were never received: a broken line from their source, and a sign short of each target."""
    first, out = u.arrows[0], []
    line = f"arrow dash l{hue(first.epoch)}" + (" named" if first.named else "")
    beside = BAND / 2 if g.beside else 18 + len(u.lines[0]) * (LETTER + 0.6 * first.named)  # the width of the text
    for a in u.arrows:
        target = g.lanes[a.flight.message.destination]
        way = 1 if target > x else -1
        end = target - way * 16 if target != x else x - side * 24
        start = x + way * (beside if way == side else BAND / 2)
        if target == x:
            start = x - side * BAND / 2
        if (end - start) * (way if target != x else -side) > 0:
            out.append(tag("line", {"class": line, "x1": start, "x2": end, "y1": y, "y2": y}))
        out.append(stop(end, y, a))
    bold = "strong " if first.named else ""
    for k, said in enumerate(u.lines):
        how, place = f"{bold}f{hue(first.epoch)}", y + 4 + k * LINE
        out.append(haloed(pen, said, (g.beside or x) + side * 14, place, side, how, first.flight.sent))
    ends = [(a, process_name(a.flight.message.destination)) for a in u.arrows]
    hint = "; ".join(f"{a.text} to {whom}: {a.flight.fate.value}" for a, whom in ends)
    return tag("g", {}, tag("title", {}, text(hint)) + "".join(out))


def stop(x: float, y: float, a: Arrow) -> str:
    """Return the end of a message that is not received: a ring if in flight, a cross if lost."""
    if a.flight.fate is Fate.IN_FLIGHT:
        return tag("circle", {"class": f"open l{hue(a.epoch)}", "stroke-width": "1.6", "cx": x, "cy": y, "r": 4})
    d = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
    return tag("path", {"class": f"arrow l{hue(a.epoch)}", "stroke-width": "2", "d": d})
