"""Run the commands whose output README.md and the pages here show, and put the output there.

    python docs/regenerate.py [FILE ...]

A block to fill is a fence that follows `<!-- run: COMMAND -->`. Nothing else is changed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"(<!-- run: (?P<command>[^>]+) -->\n```text\n)(?P<old>.*?)(```)", re.DOTALL)
KEEP_HEAD, KEEP_TAIL = 60, 12  # of a long output: the first lines and the last


def shown(command: str) -> str:
    """What a command prints, its middle left out if it is long."""
    program = Path(sys.executable).parent / command.split()[0]
    done = subprocess.run([program, *command.split()[1:]], capture_output=True, text=True, check=False)
    lines = [line.rstrip() for line in (done.stdout + done.stderr).rstrip().splitlines()]
    if len(lines) > KEEP_HEAD + KEEP_TAIL + 1:
        left_out = len(lines) - KEEP_HEAD - KEEP_TAIL
        lines[KEEP_HEAD:-KEEP_TAIL] = [f"[{left_out} lines left out]"]
    return f"$ {command}\n" + "\n".join(lines) + "\n"


def main() -> None:
    docs = Path(__file__).parent
    for path in [Path(name) for name in sys.argv[1:]] or [docs.parent / "README.md", *sorted(docs.glob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        path.write_text(BLOCK.sub(lambda m: m[1] + shown(m["command"].strip()) + m[4], text), encoding="utf-8")


if __name__ == "__main__":
    main()
