"""The options of an exploration, and how it runs; start with `running.py`."""
