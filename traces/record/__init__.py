"""Traces: how a schedule is run and recorded, the file of a trace, and its verification.

Start with `trace.py`, then `runner.py` and `file.py`. `instrumented.py` is what a world provides to be recorded.
"""
