"""What a tenant has for its data store is kept in a Secret, which is written only when it changes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.data_store.tenant import Tenant
from nagaya.controlplane.hosted.data_store.tenant_store import KineTenantStore
from nagaya.controlplane.hosted.kubernetes.kinds import SECRETS, Content
from nagaya.controlplane.hosted.phases import Provision
from nagaya.controlplane.hosted.pods import tenancies
from nagaya.controlplane.hosted.pods.apply import Apply
from nagaya.controlplane.hosted.pods.known import Known
from nagaya.controlplane.hosted.pods.plan import Plan
from nagaya.controlplane.hosted.pods.seen import Seen
from nagaya.kube.errors import NotFound
from nagaya.kube.transport import Call
from support.seen_pods import CLOCK, UID, applied, seen, sql_place


class Database:
    """A store that gives every tenant the same place, and notes what it is handed."""

    def __init__(self) -> None:
        self.handed: list[Mapping[str, bytes]] = []

    async def provision(self, tenant: Tenant, kept: Mapping[str, bytes]) -> KineTenantStore:
        assert tenant == Tenant(UID)
        self.handed.append(kept)
        return sql_place()


class Written:
    """An API in which nothing is, and that notes what is applied."""

    def __init__(self) -> None:
        self.contents: list[Content] = []

    async def get(self, kind: object, namespace: str, name: str) -> Untyped:
        raise NotFound(Call("GET", f"/{namespace}/{name}"), 404, {})

    async def apply(self, kind: object, content: Content) -> Untyped:
        assert kind is SECRETS
        self.contents.append(content)
        return Untyped(content)


async def provisioned(found: Seen) -> tuple[list[Content], list[Mapping[str, bytes]]]:
    """What is written, and what the store is handed."""
    api, database = Written(), Database()
    observer: Any = SimpleNamespace(
        rt=SimpleNamespace(world=SimpleNamespace(clock=CLOCK), client=api),
        stores=SimpleNamespace(get=lambda _: database),
    )
    apply = Apply(observer, cast(Any, api), cast(Any, None), cast(Any, None))
    await apply.all(found, Plan((Provision(),), {}))
    assert found.known.store == sql_place()
    return api.contents, database.handed


def holding(found: Seen, kept: Mapping[str, bytes]) -> Seen:
    """The same with a Secret of credentials."""
    return applied(found, [tenancies.credentials(found, kept)])


async def test_credentials_that_are_kept_as_they_shall_be_are_not_written_again() -> None:
    found = holding(seen(known=Known()), sql_place().kept)
    written, handed = await provisioned(found)
    assert written == []
    assert handed == [sql_place().kept]


async def test_credentials_that_are_new_or_differ_are_written() -> None:
    for found in (seen(known=Known()), holding(seen(known=Known()), {"password": b"before"})):
        [written], _ = await provisioned(found)
        assert written["metadata"]["name"] == "one-data-store"
        assert base64.b64decode(written["data"]["password"]) == sql_place().kept["password"]


async def test_a_secret_of_credentials_that_somebody_changed_is_put_right() -> None:
    found = holding(seen(known=Known()), sql_place().kept)
    [(name, secret)] = found.objects.items()
    changed = Untyped({**secret.raw, "metadata": {**secret.raw["metadata"], "labels": {}}})
    [written], _ = await provisioned(replace(found, objects={name: changed}))
    assert written["metadata"]["labels"] == secret.metadata.labels
