"""Report how often an event happened, with a confidence interval of its rate."""

from __future__ import annotations

from math import sqrt

Z = 1.959963984540054  # 95 %


def interval(hits: int, times: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a rate."""
    if not times:
        return 0.0, 1.0
    rate, n = hits / times, times
    middle = rate + Z * Z / (2 * n)
    spread = Z * sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n))
    scale = 1 + Z * Z / n
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def told_rate(hits: int, times: int) -> str:
    """Return a rate with its 95 % interval: `3 of 10 (95 %: 0.11 to 0.60)`."""
    low, high = interval(hits, times)
    return f"{hits} of {times} (95 %: {low:.2f} to {high:.2f})"
