"""How fast Phase 3 is: timed runs over seeds, on Spark, and their pictures."""
