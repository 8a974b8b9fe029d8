"""The colours of pages and pictures, each for a light screen and for a dark one."""

from __future__ import annotations

__all__ = ["COLOURS", "DARK", "scheme", "variables"]

DARK = "@media screen and (prefers-color-scheme:dark)"  # paper is light

# Text in `ink`, `faint`, `bad`, `good`, `warn` and `link` has a contrast of 4.5 on `paper`, `panel`, `tint` and `new`.
COLOURS = {
    "paper": ("#ffffff", "#14181d"),  # the ground
    "panel": ("#f6f8fa", "#1b2128"),  # of what stands apart
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


def scheme(dark: bool) -> dict[str, str]:
    """Return the colours of a screen by name."""
    return {name: pair[dark] for name, pair in COLOURS.items()}


def variables() -> str:
    """Return them as variables of a sheet of styles: `var(--ink)`."""
    light, dark = ("".join(f"--{k}:{v};" for k, v in scheme(d).items()) for d in (False, True))
    return f":root{{{light}}}{DARK}{{:root{{{dark}}}}}"
