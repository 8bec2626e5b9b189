"""v1alpha1 on an API that has to ask somebody: while we answer, after we stopped or crashed, and where CAPMOX was.

On the real API server, and on the embedded one without what `nagaya up` gives it to convert by itself.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.objects import OLD_API_VERSION
from nagaya.api.conversion.proxmox.serving import old_version
from nagaya.api.crd import render
from nagaya.api.definition import Definition
from nagaya.api.kind import Kind
from nagaya.api.proxmox.group import GROUP
from nagaya.api.untyped import Untyped
from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.admission import AdmissionServer
from nagaya.cli.in_process import InProcessTransport
from nagaya.cli.old_versions import CRDS, OldVersions, is_converted
from nagaya.cli.plane import install
from nagaya.kube import kubeconfig
from nagaya.kube.client import Client
from nagaya.kube.errors import NotFound, ServerError
from nagaya.kube.http import HttpTransport
from nagaya.kube.patches import Apply, Merge
from nagaya.pki.authority import CertificateAuthority
from nagaya.world import World
from support.real import RealControlPlane, installed_binaries
from support.servers import SERVERS

pytestmark = pytest.mark.long("a real API server takes seconds to notice that definitions and webhooks changed")

PART = "infrastructure-proxmox"
CONVERTED = [each for each in PARTS[PART] if is_converted(each.kind)]
OLD = Kind(GROUP, "v1alpha1", "ProxmoxMachine", "proxmoxmachines", Untyped)
NEW = Kind(GROUP, "v1alpha2", "ProxmoxMachine", "proxmoxmachines", Untyped)
PATIENCE = 120.0
CLOSING = 0.3  # seconds that connections take to say goodbye
NETWORK = {"default": {"bridge": "vmbr0", "model": "virtio"}}
SPEC = {"sourceNode": "pve1", "templateID": 100, "full": True, "numCores": 2, "network": NETWORK}
METADATA = {"name": "one", "namespace": "default"}


both_servers = pytest.mark.parametrize("client", ["embedded", "real"], indirect=True)


@pytest.fixture(params=SERVERS)
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Client]:
    """Leads to a server without any of the kinds, which nobody else has: a real one takes minutes to forget CRDs whose
    conversion nobody answers.
    """
    world = World()
    if request.param == "embedded":
        server = await ApiServer.start(Config(), world)
        yield Client(InProcessTransport(server), world=world, field_manager="nagaya")
        await server.stop()
        await asyncio.sleep(CLOSING)
        return
    with RealControlPlane(installed_binaries()) as plane:
        transport = HttpTransport(kubeconfig.load(plane.kubeconfig), world=world)
        made = Client(transport, world=world, field_manager="nagaya")
        yield made
        await made.close()
        await asyncio.sleep(CLOSING)


async def eventually(check: Callable[[], Awaitable[Any]]) -> Any:
    """What a check says, once it says something: an API server takes a moment to notice a changed CRD."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE
    while True:
        try:
            if found := await check():
                return found
            assert loop.time() < deadline
        except (NotFound, ServerError):
            if loop.time() > deadline:
                raise
        await asyncio.sleep(0.05)


@asynccontextmanager
async def answering(client: Client) -> AsyncIterator[str]:
    """Somebody who converts, as `nagaya controllers --admission` does."""
    # A busy machine may need more time than a user who stops Nagaya wants to wait.
    rules = AdmissionServer(client, World(), PARTS[PART], stop_timeout=240.0)
    try:
        yield await rules.start("127.0.0.1", 0)
    finally:
        await rules.stop()


async def read(client: Client, kind: Kind[Untyped]) -> Any:
    """The machine in a version."""
    found = await eventually(lambda: client.get(kind, "default", "one"))
    return found.raw


async def versions(client: Client) -> dict[str, bool]:
    """The versions that the CRD has, and whether they are served."""
    found = await client.get(CRDS, "", str(NEW))
    return {each["name"]: each["served"] for each in found.at("spec", "versions")}


async def apply_old(client: Client, **spec: Any) -> None:
    patch = Apply({"metadata": METADATA, "spec": {**SPEC, **spec}}, "somebody")
    await eventually(lambda: client.patch(OLD, "default", "one", patch))


async def label(client: Client) -> Untyped:
    """Server-side apply in v1alpha2."""
    return await client.patch(NEW, "default", "one", Apply({"metadata": {"labels": {"a": "b"}}}, "another"))


async def crash(client: Client) -> None:
    """What is left when nobody answers any more and nobody could say so."""
    bundle = CertificateAuthority.create("gone", World().clock).certificate_pem
    config = {"url": "https://127.0.0.1:9/convert", "caBundle": base64.b64encode(bundle).decode()}
    await OldVersions(client, CONVERTED).serve(config)

    async def vain() -> bool:
        try:
            await client.get(OLD, "default", "one")
        except ServerError as error:
            return "conversion webhook" in error.message
        return False

    await eventually(vain)


@both_servers
async def test_it_is_served_while_somebody_converts_and_objects_stay_whole_afterwards(client: Client) -> None:
    await install(client, [PART])
    async with answering(client):
        await apply_old(client)
        assert (await read(client, NEW))["spec"]["network"]["networkDevices"][0]["name"] == "net0"
        assert await versions(client) == {"v1alpha1": True, "v1alpha2": True}

    assert await versions(client) == {"v1alpha1": False, "v1alpha2": True}
    labelled = await eventually(lambda: label(client))
    assert labelled.at("metadata", "labels") == {"a": "b"}

    async def unserved() -> bool:
        try:
            await client.get(OLD, "default", "one")
        except NotFound:
            return True
        return False

    assert await eventually(unserved)
    async with answering(client):
        again = await read(client, OLD)
        assert again["spec"] == SPEC
        assert again["metadata"]["labels"] == {"a": "b"}


async def test_after_a_crash_the_new_version_can_be_read_and_written(client: Client) -> None:
    await install(client, [PART])
    async with answering(client):
        await apply_old(client)
    await crash(client)

    patched = await client.patch(NEW, "default", "one", Merge({"spec": {"numCores": 4}}))

    assert patched.at("spec", "numCores") == 4
    assert (await read(client, NEW))["spec"]["numCores"] == 4


@both_servers
async def test_after_a_crash_the_next_start_that_converts_puts_it_right(client: Client) -> None:
    await install(client, [PART])
    async with answering(client):
        await apply_old(client)
    await crash(client)

    async with answering(client):
        assert (await read(client, OLD))["spec"] == SPEC


async def test_after_a_crash_the_next_installation_puts_it_right(client: Client) -> None:
    await install(client, [PART])
    async with answering(client):
        await apply_old(client)
    await crash(client)

    await install(client, [PART], force=False)

    assert await versions(client) == {"v1alpha1": False, "v1alpha2": True}
    assert (await eventually(lambda: label(client))).at("metadata", "labels") == {"a": "b"}


async def test_an_installation_leaves_a_conversion_alone_that_works(client: Client) -> None:
    await install(client, [PART])
    async with answering(client):
        await apply_old(client)

        await install(client, [PART], force=False)

        assert await versions(client) == {"v1alpha1": True, "v1alpha2": True}
        assert (await read(client, OLD))["spec"] == SPEC
        await install(client, [PART], force=False, converting=True)
        assert (await read(client, OLD))["spec"] == SPEC


async def test_whoever_comes_later_is_asked_from_then_on(client: Client) -> None:
    await install(client, [PART])
    async with answering(client) as first:
        async with answering(client) as second:
            await apply_old(client)
            asked = await client.get(CRDS, "", str(NEW))
            assert asked.at("spec", "conversion", "webhook", "clientConfig", "url") == f"{second}/convert" != first
        assert await versions(client) == {"v1alpha1": False, "v1alpha2": True}


def of_capmox(definition: Definition, *, both: bool) -> dict[str, Any]:
    """A CRD as CAPMOX has it: at first with v1alpha1 only, later with a webhook of its own."""
    made = render(definition)
    (new,) = made["spec"]["versions"]
    old = {**old_version(definition), "deprecated": False, "deprecationWarning": None, "storage": not both}
    made["metadata"]["labels"] = {"cluster.x-k8s.io/v1beta1": "v1alpha1"}
    made["spec"]["versions"] = [{name: value for name, value in old.items() if value is not None}]
    if both:
        service = {"name": "capmox-webhook-service", "namespace": "capmox-system", "path": "/convert", "port": 443}
        webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1", "v1beta1"]}
        made["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": "capmox-system/capmox-serving-cert"}
        made["spec"]["versions"].append(new)
        made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return made


@both_servers
@pytest.mark.parametrize("both", [False, True], ids=["from v1alpha1", "from both versions"])
async def test_what_capmox_stored_is_taken_over(client: Client, both: bool) -> None:
    for each in CONVERTED:
        await client.patch(CRDS, "", str(each.kind), Apply(of_capmox(each, both=False), "clusterctl"))
    content = {"apiVersion": OLD_API_VERSION, "kind": "ProxmoxMachine", "metadata": METADATA, "spec": SPEC}
    await eventually(lambda: client.create(OLD, content))
    status = {"ready": True, "vmStatus": "ready", "ipAddresses": {"net0": {"ipv4": "10.0.0.20"}}}
    await client.patch(OLD, "default", "one", Merge({"status": status}), subresource="status")
    if both:
        for each in CONVERTED:
            await client.patch(CRDS, "", str(each.kind), Apply(of_capmox(each, both=True), "clusterctl"))
            await client.patch(CRDS, "", str(each.kind), Merge({"metadata": {"labels": {"their": "own"}}}))

    await install(client, [PART], force=False, converting=True)
    async with answering(client):
        found = await read(client, NEW)
        assert found["spec"]["network"]["networkDevices"][0]["bridge"] == "vmbr0"
        assert found["status"]["ipAddresses"] == [{"net": "net0", "ipv4": ["10.0.0.20"]}]
        assert found["status"]["initialization"] == {"provisioned": True}
        assert (await read(client, OLD))["spec"] == SPEC
        for each in CONVERTED:
            definition = await client.get(CRDS, "", str(each.kind))
            assert definition.at("status", "storedVersions") == ["v1alpha2"]
            assert "service" not in definition.at("spec", "conversion", "webhook", "clientConfig")
            assert "cert-manager.io/inject-ca-from" not in (definition.at("metadata", "annotations") or {})
            assert definition.at("metadata", "labels", "cluster.x-k8s.io/v1beta2") == "v1alpha2"

    await eventually(lambda: label(client))
    assert (await read(client, NEW))["spec"] == found["spec"]
