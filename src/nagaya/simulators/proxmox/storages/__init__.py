"""Storages: how their volumes are named, made, copied and removed, and what PVE says of it."""
