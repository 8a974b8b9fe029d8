"""What an exploration is asked with, and how it is run; start with `running.py`."""
