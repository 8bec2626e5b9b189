"""Mishaps on demand: calls and tasks that fail, hang, take long, or succeed without anybody hearing of it."""
