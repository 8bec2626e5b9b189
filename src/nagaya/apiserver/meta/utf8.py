"""Text from bytes that need not be UTF-8, as Go reads it.

Go replaces every byte that is wrong with a replacement character, while Python replaces several together.
"""

from __future__ import annotations

import codecs
from typing import Final

_HANDLER: Final = "nagaya-each-byte"


def _replace(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(_HANDLER, _replace)


def read(data: bytes) -> str:
    """The text, with replacement characters where the bytes are wrong."""
    return data.decode("utf-8", _HANDLER)
