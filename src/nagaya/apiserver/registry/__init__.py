"""What is served and how each verb works: the same write path for every kind, built-in or custom."""
