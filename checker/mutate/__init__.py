"""Mutants of a user protocol: what no property notices."""
