"""The TLA+ export, against TLC."""
