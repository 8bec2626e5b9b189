"""Whether owners exist that objects name: asked once for each, of the API itself."""

from __future__ import annotations

from nagaya.api.meta import OwnerReference
from nagaya.insight.picture.kinds import Kinds
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, NotFound


class Owners:
    """What is known of owners."""

    def __init__(self, client: Client, kinds: Kinds) -> None:
        self._client = client
        self._kinds = kinds
        self._known: dict[tuple[str, str], bool | None] = {}

    async def exists(self, owner: OwnerReference, namespace: str) -> bool | None:
        """Whether the very object exists; None for a kind that nobody knows, or that may not be read."""
        asked = (namespace, owner.uid)
        if asked not in self._known:
            self._known[asked] = await self._ask(owner, namespace)
        return self._known[asked]

    async def _ask(self, owner: OwnerReference, namespace: str) -> bool | None:
        found = self._kinds.get(owner.api_version.rpartition("/")[0], owner.kind)
        if found is None:
            return None
        try:
            there = await self._client.get(found.kind, namespace if found.kind.namespaced else "", owner.name)
        except NotFound:
            return False
        except ApiError:
            return None
        return there.metadata.uid == owner.uid
