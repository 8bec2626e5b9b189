"""The vocabulary every part of the server speaks: names, errors, times, quantities."""
