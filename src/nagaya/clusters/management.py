"""Which management API it is: the uid of its first namespace, which every API has from its first moment to its last,
also after it was restored from a backup, and which no two have in common."""

from __future__ import annotations

from typing import Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client

NAMESPACES: Final = Kind("", "v1", "Namespace", "namespaces", Untyped, namespaced=False)
FIRST_NAMESPACE: Final = "kube-system"


async def identity(client: Client) -> str:
    """What no two APIs have in common, however they are reached. Raises ApiError, NoAnswer."""
    return (await client.get(NAMESPACES, "", FIRST_NAMESPACE)).metadata.uid
