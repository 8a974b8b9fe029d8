"""Read the text logs of servers. Start with `text_logs.py`."""
