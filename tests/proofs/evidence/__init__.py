"""Tests of the evidence beside an exploration."""
