"""Judge event tables of many runs, on Spark and in batches. Start with `frames.py`."""
