"""Which kind a manifest means: what the server serves of a group's version, asked for once.

A version that the server does not serve is asked for again: its definition may be among the objects that are brought.
"""

from __future__ import annotations

from nagaya.api.kind import Kind
from nagaya.api.model import Model
from nagaya.api.untyped import Untyped
from nagaya.kube.client import Client
from nagaya.kube.decoding import read_document
from nagaya.kube.errors import NotFound


class _Served(Model):
    name: str
    kind: str
    namespaced: bool = True


class _ServedList(Model):
    resources: tuple[_Served, ...] = ()


class ServedKinds:
    """Those of one server."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kinds: dict[tuple[str, str], Kind[Untyped]] = {}

    async def of(self, api_version: str, kind: str) -> Kind[Untyped]:
        """The kind as it is served. Raises LookupError with a sentence, and what the client does."""
        found = self._kinds.get((api_version, kind))
        if found is None:
            await self._discover(api_version)
            found = self._kinds.get((api_version, kind))
        if found is None:
            raise LookupError(f"the cluster does not serve the kind {kind} of {api_version}")
        return found

    async def _discover(self, api_version: str) -> None:
        group, _, version = api_version.rpartition("/")
        path = f"/apis/{api_version}" if group else f"/api/{version}"
        try:
            answer = await self._client.raw("GET", path)
        except NotFound:
            return
        for each in read_document(_ServedList, path, answer.body).resources:
            if "/" not in each.name:
                made = Kind(group, version, each.kind, each.name, Untyped, each.namespaced)
                self._kinds[(api_version, each.kind)] = made
