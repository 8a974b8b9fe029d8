"""Breadth-first exploration distributed by the owners of fingerprints, on Spark.

A level is expanded by tasks, one for each part of it, with the explorer's own kernel; every task
sends what it found, each state once, to the owners of the fingerprints; an owner keeps what it has
not seen before. What a level came to is in files, and is committed by one rename.
"""
