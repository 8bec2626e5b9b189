"""Admission in order: every plugin that changes, then every plugin that checks.

The order is the real server's: what Kubernetes itself sees to first, policies and webhooks in between, quota last,
because it counts what is really stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes


class Plugin:
    """One rule about writes. A plugin that has nothing to say about a write returns at once."""

    async def mutate(self, write: Attributes) -> None:
        """Change the object, or raise an ApiError to refuse it."""

    async def validate(self, write: Attributes) -> None:
        """Raise an ApiError to refuse the object as it is about to be stored."""


class Admission:
    """All plugins of a server."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self._mutating = [each for each in plugins if type(each).mutate is not Plugin.mutate]
        self._validating = [each for each in plugins if type(each).validate is not Plugin.validate]

    async def mutate(self, write: Attributes) -> None:
        """Let every mutating plugin have its say."""
        for plugin in self._mutating:
            await plugin.mutate(write)

    async def validate(self, write: Attributes) -> None:
        """Let every validating plugin have its say."""
        for plugin in self._validating:
            await plugin.validate(write)
