"""Fixtures for every tier."""

from support.real import real_control_plane

__all__ = ["real_control_plane"]
