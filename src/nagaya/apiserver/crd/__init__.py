"""Custom resources: what their definitions may say, and what those definitions make of objects."""
