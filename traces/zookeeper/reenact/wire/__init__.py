"""What goes between official servers: packets and connections, and the gates that hold them; start with `links.py`."""
