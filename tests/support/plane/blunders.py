"""Mistakes in the code itself that come to light while a story is played: exceptions that no world and no user can be
blamed for."""

from __future__ import annotations

import logging
import traceback
from typing import Final

_MISTAKES: Final = (AssertionError, AttributeError, LookupError, TypeError, ValueError, NameError, RuntimeError)
_LOGGER: Final = "nagaya"


class Blunders(logging.Handler):
    """Listens to what the code logs, in the place of those who would print it."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def __enter__(self) -> Blunders:
        logger = logging.getLogger(_LOGGER)
        self._before = logger.propagate, logger.level
        logger.propagate = False
        logger.setLevel(logging.WARNING)
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger(_LOGGER)
        logger.removeHandler(self)
        logger.propagate = self._before[0]
        logger.setLevel(self._before[1])

    def emit(self, record: logging.LogRecord) -> None:
        """See whether it is one."""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if error is None or not isinstance(error, _MISTAKES):
            return
        where = "".join(traceback.format_exception(error)[-3:])
        self.found.append(f"{record.getMessage()}\n{where}")
