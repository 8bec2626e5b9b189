"""The one way in which a body fails to be an object."""

from __future__ import annotations


class DecodeError(ValueError):
    """A body cannot be read, or is not what its kind says. The message is the real server's."""
