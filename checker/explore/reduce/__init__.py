"""Leave out states and steps that no property needs: ample sets, classes, receipts that are alike.

Start with `ample.py`, and docs/explanation/reductions.md.
"""
