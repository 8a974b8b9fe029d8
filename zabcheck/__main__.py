"""The command `zabcheck`, and `python -m zabcheck`."""

from __future__ import annotations

import gc
import sys

from zabcheck.shadowed_packages import in_the_way

__all__ = ["main"]

WRONG = 2


def main() -> None:
    """Run the command; ends the process."""
    gc.set_threshold(50_000, 20, 20)  # of what is made at the beginning nothing is in a circle: do not look through it
    sentence = in_the_way()
    if sentence:
        print(f"zabcheck: {sentence}", file=sys.stderr)
        sys.exit(WRONG)
    from checker.cli import main as command

    command()


if __name__ == "__main__":
    main()
