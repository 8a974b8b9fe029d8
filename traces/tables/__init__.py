"""Event tables: runs as Parquet, one row an event.

Start with `table.py`, the schema; `recorded.py` writes simulated runs and traces, `own.py` is for user protocols.
"""
