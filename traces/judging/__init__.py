"""Event tables judged by the properties of histories, at any size."""
