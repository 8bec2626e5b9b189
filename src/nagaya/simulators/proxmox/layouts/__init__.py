"""Data centers to begin with."""
