"""From Python to typed trees. Start with `frontend.py`."""
