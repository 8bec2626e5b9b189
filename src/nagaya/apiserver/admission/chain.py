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

    # The resources (`pods`, `deployments.apps`) that a plugin has anything to say about; None for all.
    resources: frozenset[str] | None = None

    async def mutate(self, write: Attributes) -> None:
        """Change the object, or raise an ApiError to refuse it."""

    async def validate(self, write: Attributes) -> None:
        """Raise an ApiError to refuse the object as it is about to be stored."""


class Admission:
    """All plugins of a server."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self._mutating = [each for each in plugins if type(each).mutate is not Plugin.mutate]
        self._validating = [each for each in plugins if type(each).validate is not Plugin.validate]
        # Which plugins care about a resource, found out when it is first written to.
        self._mutate: dict[tuple[str, str], list[Plugin]] = {}
        self._validate: dict[tuple[str, str], list[Plugin]] = {}

    async def mutate(self, write: Attributes) -> None:
        """Let every mutating plugin have its say, and once more if one asks for it."""
        resource = write.call.resource.group_resource
        plugins = self._mutate.get(resource)
        if plugins is None:
            plugins = self._mutate[resource] = _caring(self._mutating, resource)
        for plugin in plugins:
            await plugin.mutate(write)
        if write.reinvocation is not None and write.reinvocation.wanted:
            write.reinvocation.again = True
            for plugin in plugins:
                await plugin.mutate(write)

    async def validate(self, write: Attributes) -> None:
        """Let every validating plugin have its say."""
        resource = write.call.resource.group_resource
        plugins = self._validate.get(resource)
        if plugins is None:
            plugins = self._validate[resource] = _caring(self._validating, resource)
        for plugin in plugins:
            await plugin.validate(write)


def _caring(plugins: Sequence[Plugin], resource: tuple[str, str]) -> list[Plugin]:
    return [each for each in plugins if each.resources is None or str(resource) in each.resources]
