"""Event tables of runs, and the places where they lie. Start with `table.py`."""
