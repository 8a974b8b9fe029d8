"""Event tables in Spark programs: `spark.py`."""
