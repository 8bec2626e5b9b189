"""The one way in which input is refused."""

from __future__ import annotations


class Malformed(ValueError):
    """What came does not follow its format, or is larger than allowed. The message says where; it quotes no content."""
