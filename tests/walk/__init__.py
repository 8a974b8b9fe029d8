"""Walking through states by hand: the places, their addresses, the server, and the page in a browser."""
