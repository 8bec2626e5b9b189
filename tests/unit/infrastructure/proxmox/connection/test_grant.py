"""Secrets of other namespaces: who may use them, where their credentials go, and what a refusal gives away."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import nagaya
from nagaya.api.proxmox.group import ALLOWED_NAMESPACES
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.api.proxmox.proxmox_virtual_machine import NamespacedConnectionReference
from nagaya.infrastructure.proxmox.client.transport import ROOT, Answer, Request
from nagaya.infrastructure.proxmox.connection.connections import Connections
from nagaya.infrastructure.proxmox.connection.grant import refusal
from nagaya.infrastructure.proxmox.connection.opening import opened
from nagaya.infrastructure.proxmox.connection.reference import NoConnection, Reference, read_reference, reference_among
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS
from nagaya.infrastructure.proxmox.connection.source import Unusable, facts_of, read_source, source_by
from nagaya.kube.errors import Forbidden, NotFound, from_answer
from nagaya.kube.key import Key
from nagaya.kube.transport import Answer as ApiAnswer
from nagaya.kube.transport import Call
from support.proxmox_transport import Told
from support.virtual_run import run, virtual_world

VAULT = Key("vault", "pve")
PRINT = ":".join(["AB"] * 32)
OTHER_PRINT = ":".join(["CD"] * 32)
WHOLE = {"url": "https://pve1:8006", "token": "a@pve!tok", "secret": "one"}


class Api:
    """A management API, as a client and as the cache of one that sees all or only some namespaces."""

    def __init__(self, *, unseen: tuple[str, ...] = ()) -> None:
        self.objects: dict[tuple[str, Key], Any] = {}
        self.unseen = unseen
        self.forbidden = False
        self._version = 0

    def put(self, kind: Any, key: Key, metadata: Mapping[str, Any] | None = None, **content: Any) -> Any:
        self._version += 1
        version = {"resourceVersion": str(self._version), "generation": self._version}
        whole = {"namespace": key.namespace, "name": key.name, **version, **(metadata or {})}
        self.objects[kind.kind, key] = kind.convert({"metadata": whole, **content})
        return self.objects[kind.kind, key]

    def secret(self, allowed: str | None = None, key: Key = VAULT, **data: str) -> None:
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
        annotations = {} if allowed is None else {ALLOWED_NAMESPACES: allowed}
        self.put(CREDENTIALS, key, {"annotations": annotations}, data=encoded)

    def connection(self, namespace: str = "team-a", **spec: Any) -> Any:
        spec = {"credentialsRef": {"name": "pve", "namespace": "vault"}, **spec}
        return self.put(PROXMOX_CONNECTIONS, Key(namespace, "mine"), spec=spec)

    def has(self, kind: Any) -> bool:
        return True

    def list(self, kind: Any, namespace: str = "") -> list[Any]:
        found = [(key, each) for (name, key), each in self.objects.items() if name == kind.kind]
        return [each for key, each in found if namespace in ("", key.namespace)]

    def get(self, kind: Any, *where: Any) -> Any:
        if len(where) > 1:
            return self._read(kind, Key(*where))
        return None if where[0].namespace in self.unseen else self.objects.get((kind.kind, where[0]))

    async def _read(self, kind: Any, key: Key) -> Any:
        code, reason = (403, "Forbidden") if self.forbidden else (404, "NotFound")
        if self.forbidden or (kind.kind, key) not in self.objects:
            body = b'{"kind":"Status","reason":"%s","code":%d}' % (reason.encode(), code)
            error = from_answer(ApiAnswer(code, {}, body), Call("GET", "/"))
            assert isinstance(error, NotFound | Forbidden)
            raise error
        return self.objects[kind.kind, key]


def cluster(namespace: str = "team-a", **spec: Any) -> ProxmoxCluster:
    return PROXMOX_CLUSTERS.convert({"metadata": {"name": "shop", "namespace": namespace}, "spec": spec})


def by_cluster(secret: Key = VAULT, namespace: str = "team-a") -> Reference:
    named = {"name": secret.name, "namespace": secret.namespace}
    return reference_among((), cluster(namespace, credentialsRef=named))


async def facts(api: Api, reference: Reference | None = None) -> Any:
    """What a command gets: of a connection in team-a, or of a reference."""
    client: Any = api
    if reference is not None:
        return await facts_of(client, reference, await read_source(client, reference))
    connection = api.objects["ProxmoxConnection", Key("team-a", "mine")]
    return await facts_of(client, Reference("ProxmoxConnection", Key("team-a", "mine")), source_by(connection))


async def why(api: Api, reference: Reference | None = None) -> tuple[str, str, str]:
    with pytest.raises(Unusable) as caught:
        await facts(api, reference)
    return str(caught.value), caught.value.reason, caught.value.part


@pytest.mark.parametrize(
    "allowed",
    [None, "", "*", "team-*", "team-ab", "xteam-a", "team-a/pve", "TEAM-A", "team-a team-b", "team-a;team-b", "vault"],
)
def test_only_a_namespace_that_is_listed_by_its_name_may_use_a_secret(allowed: str | None) -> None:
    async def main() -> None:
        api = Api()
        api.secret(allowed, **WHOLE)
        api.connection()
        told = {await why(api), await why(api, by_cluster())}
        assert told == {(refusal(VAULT, "team-a"), "SecretUnusable", "secret")}

    run(main())


@pytest.mark.parametrize("allowed", ["team-a", " team-b , team-a,", "team-a,team-a"])
def test_a_namespace_that_is_listed_may(allowed: str) -> None:
    async def main() -> None:
        api = Api()
        api.secret(allowed, **WHOLE)
        api.connection()
        assert [str(each) for each in (await facts(api)).endpoints] == ["https://pve1:8006"]
        assert (await facts(api, by_cluster())).credentials.secret == "one"

    run(main())


def test_a_refusal_is_the_same_whatever_the_secret_is() -> None:
    async def main() -> None:
        told = set()
        for data in (None, {}, {"token": "no token"}, {"url": "ftp://x", **WHOLE}, WHOLE):
            for forbidden in (False, True):
                api = Api()
                if data is not None:
                    api.secret("team-b", **data)
                api.forbidden = forbidden
                api.connection(endpoints=["https://evil"], insecure=True)
                told |= {await why(api), await why(api, by_cluster())}
        assert told == {(refusal(VAULT, "team-a"), "SecretUnusable", "secret")}
        assert f"`kubectl annotate secret pve -n vault {ALLOWED_NAMESPACES}=team-a`" in refusal(VAULT, "team-a")

    run(main())


def test_the_command_of_a_refusal_is_one_command_whatever_was_written() -> None:
    said = refusal(Key("v; rm -rf ~", "$(reboot)"), "team-a")
    assert "secret '$(reboot)' -n 'v; rm -rf ~' " in said


@pytest.mark.parametrize(
    ("spec", "why_not"),
    [
        ({"endpoints": ["https://evil:8006"]}, "spec.endpoints names https://evil:8006"),
        ({"endpoints": ["https://pve1:8006", "https://evil"]}, "spec.endpoints names https://evil:8006"),
        ({"endpoints": ["https://pve1:8007"]}, "spec.endpoints names https://pve1:8007"),
        ({"endpoints": ["https://pve1.evil"]}, "spec.endpoints names https://pve1.evil:8006"),
        ({"insecure": True}, "Remove spec.insecure"),
        ({"fingerprint": PRINT}, "Remove spec.fingerprint"),
        ({"caRef": {"name": "ca"}}, "Remove spec.caRef"),
        ({"caRef": {"kind": "ConfigMap", "name": "ca"}}, "Remove spec.caRef"),
    ],
)
def test_who_refers_to_a_secret_chooses_neither_hosts_nor_trust(spec: dict[str, Any], why_not: str) -> None:
    async def main() -> None:
        api = Api()
        api.secret("team-a", **WHOLE)
        api.connection(**spec)
        sentence, _, part = await why(api)
        assert why_not in sentence
        assert part == ("endpoint" if "endpoints" in spec else "trust")
        # In its own namespace a connection goes on to say all of it.
        own = Api()
        own.secret(key=Key("team-a", "pve"), **WHOLE)
        own.connection(credentialsRef={"name": "pve"}, **{name: spec[name] for name in spec if name != "caRef"})
        assert (await facts(own)).credentials.secret == "one"

    run(main())


def test_what_a_secret_says_of_hosts_and_trust_can_be_repeated() -> None:
    async def main() -> None:
        api = Api()
        urls = "https://pve1:8006, pve2/api2/json"
        api.secret("team-a", **WHOLE | {"url": urls, "fingerprint": f"{OTHER_PRINT},{PRINT.lower()}"})
        api.connection(endpoints=["PVE2"], fingerprint=PRINT)
        found = await facts(api)
        assert [each.host for each in found.endpoints] == ["pve2"]
        assert len(found.trust.fingerprints) == 2
        api.connection()
        assert [each.host for each in (await facts(api)).endpoints] == ["pve1", "pve2"]
        api.secret("team-a", **WHOLE, insecure="true")
        api.connection(insecure=True)
        assert (await facts(api)).trust.insecure
        api.secret("team-a", token="a@pve!tok", secret="one")
        api.connection(endpoints=["https://evil"])
        assert "no address of Proxmox VE is given" in (await why(api))[0]

    run(main())


def test_a_reservation_asks_for_the_namespace_of_its_machine() -> None:
    async def main() -> None:
        api = Api()
        written = NamespacedConnectionReference(namespace="vault", name="pve", kind="Secret")
        reference = read_reference(written, "team-a")
        api.secret("team-b", **WHOLE)
        assert (await why(api, reference))[0] == refusal(VAULT, "team-a")
        client: Any = api
        with pytest.raises(NoConnection):
            await opened(client, virtual_world(), reference)
        api.secret("team-a", **WHOLE)
        assert (await facts(api, reference)).credentials.secret == "one"
        with pytest.raises(Unusable):
            await facts(api, read_reference(written, ""))

    run(main())


@pytest.mark.parametrize("unseen", [(), ("vault",)])
def test_a_grant_that_is_withdrawn_ends_the_connection(unseen: tuple[str, ...]) -> None:
    """Also where the controllers do not hear of the Secret."""

    async def main() -> None:
        api = Api(unseen=unseen)
        api.secret("team-a,team-b", **WHOLE)
        api.connection()
        anything: Any = api
        asked: list[Request] = []

        def answer(_: str, request: Request) -> Answer:
            asked.append(request)
            return Answer(200, "OK", b'{"data":{"version":"9.2.1","release":"9.2"}}')

        connections = Connections(anything, anything, virtual_world(), transport=lambda: Told(answer))
        mine = Reference("ProxmoxConnection", Key("team-a", "mine"))
        ways = [await connections.get(each) for each in (mine, by_cluster(), by_cluster(namespace="team-b"))]
        await ways[0].proxmox.calls.get("/version")
        assert [each.path for each in asked] == [f"{ROOT}/version"]
        api.secret("team-b", **WHOLE)
        for reference in (mine, by_cluster()):
            with pytest.raises(NoConnection, match="does not allow that"):
                await connections.get(reference)
        assert (await connections.get(by_cluster(namespace="team-b"))).proxmox is ways[2].proxmox
        api.objects.pop(("Secret", VAULT))
        with pytest.raises(NoConnection, match="does not allow that"):
            await connections.get(by_cluster(namespace="team-b"))
        await asyncio.sleep(0)
        await connections.close()

    run(main())


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("team-a", "../../vault/secrets/pve"),
        ("team-a/secrets/..", "pve"),
        ("team-a", ".."),
        ("..", "pve"),
        ("team-a", "pve/status"),
    ],
)
def test_a_name_cannot_lead_out_of_its_namespace(namespace: str, name: str) -> None:
    path = CREDENTIALS.path(namespace, name)
    assert len(path.split("/")) == 7
    assert ".." not in path.split("/")


def test_the_places_that_read_such_secrets_check_the_grant() -> None:
    """Whoever reads one in another place has to ask `is_granted`, and be added here."""
    source = Path(nagaya.__file__).parent
    readers = [each for each in source.rglob("*.py") if re.search(r"\.get\(\s*CREDENTIALS\b", each.read_text())]
    proxmox = "infrastructure/proxmox"
    assert {each.relative_to(source).as_posix() for each in readers} == {
        f"{proxmox}/cluster/seen.py",
        f"{proxmox}/connection/establishing/management.py",
        f"{proxmox}/connection/source.py",
        "insight/leftovers/gathering.py",
    }
    assert all("is_granted(" in each.read_text() for each in readers)
