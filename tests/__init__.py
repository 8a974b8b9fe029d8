"""Tests of zabcheck: a folder for each part, and beside them what several folders use."""
