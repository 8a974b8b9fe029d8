"""Protocols from anywhere: what their authors write with, and how they are read."""
