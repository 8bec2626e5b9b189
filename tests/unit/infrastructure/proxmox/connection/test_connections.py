"""The registry of clients: who shares one, what a rotated Secret changes, and what is asked how often."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.infrastructure.proxmox.client.transport import ROOT, Answer, Request
from nagaya.infrastructure.proxmox.connection.connections import PREFLIGHT, Connections
from nagaya.infrastructure.proxmox.connection.reference import CONNECTION, SECRET, NoConnection, Reference
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS
from nagaya.kube.errors import NotFound, from_answer
from nagaya.kube.key import Key
from nagaya.kube.transport import Answer as ApiAnswer
from nagaya.kube.transport import Call
from support.proxmox_transport import Told
from support.virtual_run import run, virtual_world

PVE = Reference(CONNECTION, Key("default", "pve"))
ANSWERS = {
    "/version": b'{"data":{"version":"9.2.1","release":"9.2"}}',
    "/access/permissions": b'{"data":{"/":{"Sys.Audit":1}}}',
    "/cluster/resources": b'{"data":[{"type":"node","node":"pve1","status":"online"}]}',
    "/cluster/status": b'{"data":[{"type":"cluster","name":"home","quorate":1},{"type":"node","name":"pve1",'
    b'"online":1,"local":1}]}',
    "/nodes/pve1/certificates/info": b'{"data":[{"filename":"pve-root-ca.pem","fingerprint":"AB:CD:EF:00:11"}]}',
}


class Store:
    """Objects as a cache and a client show them."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, Key], Any] = {}
        self.version = 0
        self.reads = 0

    def put(self, kind: Any, content: Mapping[str, Any]) -> None:
        self.version += 1
        metadata = {"namespace": "default", "resourceVersion": str(self.version), "generation": self.version}
        made = kind.convert({**content, "metadata": {**metadata, **content["metadata"]}})
        self.objects[kind.kind, Key.of(made)] = made

    def secret(self, name: str = "pve", **data: str) -> None:
        said = {"url": "pve1", "token": "a@pve!tok", "secret": "one", "insecure": "1", **data}
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in said.items()}
        self.put(CREDENTIALS, {"metadata": {"name": name}, "data": encoded})

    def connection(self, name: str = "pve", secret: str = "pve", **more: Any) -> None:
        content = {"metadata": {"name": name}, "spec": {"credentialsRef": {"name": secret}}, **more}
        self.put(PROXMOX_CONNECTIONS, content)

    # As a cache.

    def has(self, kind: Any) -> bool:
        return True

    def list(self, kind: Any, namespace: str = "") -> list[Any]:
        return [each for (name, _), each in sorted(self.objects.items()) if name == kind.kind]

    # Both.

    def get(self, kind: Any, *where: Any) -> Any:
        if len(where) == 1:
            return self.objects.get((kind.kind, where[0]))
        return self._read(kind, Key(*where))

    async def _read(self, kind: Any, key: Key) -> Any:
        self.reads += 1
        if (kind.kind, key) not in self.objects:
            raise _not_found()
        return self.objects[kind.kind, key]


def _not_found() -> Exception:
    error = from_answer(ApiAnswer(404, {}, b'{"kind":"Status","reason":"NotFound","code":404}'), Call("GET", "/"))
    assert isinstance(error, NotFound)
    return error


@dataclass(slots=True)
class Closable(Told):
    """A transport that remembers whether it was closed."""

    closed: bool = False

    async def close(self) -> None:
        self.closed = True


class Town:
    """A registry over a store, and what it asked."""

    def __init__(self) -> None:
        self.store = Store()
        self.made: list[Closable] = []
        nobody: Any = self.store
        self.connections = Connections(nobody, nobody, virtual_world(), transport=self._transport)

    def asked(self, path: str) -> int:
        return sum(request.path == ROOT + path for each in self.made for _, request in each.sent)

    def _transport(self) -> Closable:
        self.made.append(Closable(_say))
        return self.made[-1]


def _say(host: str, request: Request) -> Answer:
    return Answer(200, "OK", ANSWERS[request.path.removeprefix(ROOT)])


def cluster(**spec: Any) -> ProxmoxCluster:
    return PROXMOX_CLUSTERS.convert({"metadata": {"name": "shop", "namespace": "default"}, "spec": spec})


def test_the_same_credentials_share_a_client_whatever_they_are_found_by() -> None:
    async def main() -> None:
        town = Town()
        town.store.secret()
        town.store.connection()
        by_connection = await town.connections.of(cluster(connectionRef={"name": "pve"}))
        by_secret = await town.connections.of(cluster(credentialsRef={"name": "pve"}))
        only = await town.connections.of(cluster())
        assert by_connection.proxmox is by_secret.proxmox is only.proxmox
        assert (by_secret.reference.kind, only.reference) == (SECRET, PVE)
        town.store.secret("other", token="b@pve!tok")
        other = await town.connections.of(cluster(credentialsRef={"name": "other"}))
        assert other.proxmox is not only.proxmox
        await town.connections.close()

    run(main())


def test_a_secret_is_read_when_it_changes_and_the_client_stays() -> None:
    async def main() -> None:
        town = Town()
        town.store.secret()
        town.store.connection()
        first = await town.connections.get(PVE)
        await town.connections.get(PVE)
        assert town.store.reads == 1
        town.store.secret(secret="two")
        second = await town.connections.get(PVE)
        assert second.proxmox is first.proxmox
        assert getattr(second.proxmox.facts.credentials, "secret") == "two"  # noqa: B009 - a token or a password
        town.store.secret(secret="two", url="pve7")
        third = await town.connections.get(PVE)
        assert third.proxmox is not first.proxmox
        await town.connections.close()

    run(main())


def test_one_who_shares_a_client_changes_nobody_elses_credentials() -> None:
    async def main() -> None:
        town = Town()
        for name in ("a", "b"):
            town.store.secret(name)
            town.store.connection(name, name)
        one, two = (Reference(CONNECTION, Key("default", name)) for name in ("a", "b"))
        shared = (await town.connections.get(one)).proxmox
        assert (await town.connections.get(two)).proxmox is shared
        town.store.secret("a", secret="two")
        assert (await town.connections.get(one)).proxmox is not shared
        assert (await town.connections.get(two)).proxmox is shared
        await town.connections.close()

    run(main())


def test_a_shared_client_is_closed_when_its_last_user_leaves() -> None:
    async def main() -> None:
        town = Town()
        for name in ("a", "b", "c"):
            town.store.secret(name)
            town.store.connection(name, name)
        one, two, three = (Reference(CONNECTION, Key("default", name)) for name in ("a", "b", "c"))
        shared = (await town.connections.get(one)).proxmox
        assert (await town.connections.get(two)).proxmox is shared
        await town.connections.forget(one)
        assert not town.made[0].closed
        assert (await town.connections.get(three)).proxmox is shared
        await town.connections.forget(two)
        await town.connections.forget(three)
        assert [transport.closed for transport in town.made] == [True]
        assert (await town.connections.get(one)).proxmox is not shared
        await town.connections.close()

    run(main())


def test_findings_are_asked_for_once_by_many_then_hourly_and_after_a_refusal() -> None:
    async def main() -> None:
        town = Town()
        town.store.secret()
        town.store.connection()
        assert (await town.connections.get(PVE)).datacenter == ""
        found = await asyncio.gather(*(town.connections.examined(PVE) for _ in range(5)))
        assert {each.datacenter for each in found} == {"home-abcdef0011"}
        assert town.asked("/access/permissions") == 1
        await asyncio.sleep(PREFLIGHT - 10)
        await town.connections.examined(PVE)
        assert town.asked("/access/permissions") == 1
        await asyncio.sleep(20)
        await town.connections.examined(PVE)
        assert town.asked("/access/permissions") == 2
        told: list[Reference] = []
        town.connections.on_refusal(told.append)
        town.connections.refused(PVE)
        await town.connections.examined(PVE)
        assert town.asked("/access/permissions") == 3
        assert told == [PVE]
        await town.connections.close()

    run(main())


def test_endpoints_that_lead_to_another_data_center_are_not_used_for_machines() -> None:
    async def main() -> None:
        town = Town()
        town.store.secret()
        town.store.connection(status={"datacenter": "cellar-0123456789"})
        assert (await town.connections.of(cluster())).datacenter == "cellar-0123456789"
        assert (await town.connections.examined(PVE, any_datacenter=True)).is_another
        for way in (town.connections.of(cluster()), town.connections.examined(PVE)):
            with pytest.raises(NoConnection, match="another Proxmox VE than cellar-0123456789"):
                await way
        await town.connections.close()

    run(main())


def test_what_is_missing_is_said_with_the_remedy() -> None:
    async def main() -> None:
        town = Town()
        with pytest.raises(NoConnection, match="Namespace default has no ProxmoxConnection: make one with"):
            await town.connections.of(cluster())
        with pytest.raises(NoConnection, match="ProxmoxConnection default/x does not exist"):
            await town.connections.of(cluster(connectionRef={"name": "x"}))
        with pytest.raises(NoConnection, match="Secret vault/x cannot be used from namespace default"):
            await town.connections.of(cluster(credentialsRef={"name": "x", "namespace": "vault"}))
        town.store.connection(spec={"credentialsRef": {"name": "pve"}, "caRef": {"name": "ca"}})
        town.store.secret()
        with pytest.raises(NoConnection, match=r"Secret default/ca with the key ca\.crt does not exist"):
            await town.connections.get(PVE)
        await town.connections.close()

    run(main())
