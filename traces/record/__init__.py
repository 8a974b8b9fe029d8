"""What happened: traces, their file, and what they are written down from."""
