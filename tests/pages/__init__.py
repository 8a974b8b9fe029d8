"""What every page of HTML has in common, and how pages look in a browser."""
