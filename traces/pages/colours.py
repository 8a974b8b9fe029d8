"""The colours of pages and pictures, each for a light screen and for a dark one."""

from __future__ import annotations

DARK = "@media screen and (prefers-color-scheme:dark)"  # paper is light

# Text in `ink`, `faint`, `bad`, `good`, `warn` and `link` has a contrast of 4.5 on `paper`, `panel`, `tint` and `new`.
COLOURS = {
    "paper": ("#ffffff", "#14181d"),  # the ground
    "panel": ("#f6f8fa", "#1b2128"),  # background of boxes
    "tint": ("#fdeaea", "#43181b"),  # of what is named as wrong
    "new": ("#fff3c4", "#40370c"),  # of what has changed
    "rule": ("#dfe3e8", "#2a3138"),  # lines between things
    "ink": ("#1b1f24", "#e8ebef"),
    "faint": ("#59636e", "#a3adb9"),
    "bad": ("#b91f26", "#ff8a8a"),
    "good": ("#236b28", "#7ccb80"),
    "warn": ("#815300", "#e3b341"),
    "link": ("#155f9c", "#6db3ee"),
}

# Lines and tints of epochs 0, 1, 2, ..., and again, light and dark; a line is legible as text on the red of what is
# wrong, and none is that red.
PALETTE = (
    ("#636a77", "#e3e6ea", "#9aa4b1", "#39414b"), ("#1769aa", "#cfe3f5", "#6db3ee", "#173f5f"),
    ("#ad4f08", "#fbe2c4", "#f0a35a", "#5b3410"), ("#2c7930", "#d3edd4", "#7ccb80", "#1d4a20"),
    ("#7b3fa0", "#ead8f5", "#c795e6", "#46245c"), ("#007686", "#c9ecf0", "#5cc7d6", "#0d464f"),
    ("#7a6500", "#f1e7b3", "#d6c04d", "#4a3f0b"),
)  # fmt: skip


def scheme(dark: bool) -> dict[str, str]:
    """Return the colours of a screen by name."""
    return {name: pair[dark] for name, pair in COLOURS.items()}


def variables() -> str:
    """Return them as variables of a sheet of styles: `var(--ink)`; of epochs `var(--line0)` and `var(--pale0)`."""
    light, dark = ("".join(f"--{k}:{v};" for k, v in scheme(d).items()) for d in (False, True))
    for k, (line, pale, night, deep) in enumerate(PALETTE):
        light += f"--line{k}:{line};--pale{k}:{pale};"
        dark += f"--line{k}:{night};--pale{k}:{deep};"
    return f":root{{{light}}}{DARK}{{:root{{{dark}}}}}"
