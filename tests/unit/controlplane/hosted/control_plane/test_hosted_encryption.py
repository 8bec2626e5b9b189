"""Secrets that control planes name, and the embedded server, on virtual time."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable

import yaml

from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.clusters.certificates.held import CLUSTER_SECRETS
from nagaya.controlplane.hosted.components.encryption_config import reencoded
from nagaya.controlplane.hosted.control_plane.encryption import EncryptionSecrets
from nagaya.kube.client import Client
from nagaya.kube.key import Key
from nagaya.kube.patches import Merge
from support.hosted_seen import plane_of
from support.virtual_run import run, virtual_world

PLAIN = plane_of()
PLANE = plane_of({"apiServer": {"encryption": {"configSecretRef": {"name": "keys"}}}})
OTHER = plane_of({"apiServer": {"encryption": {"configSecretRef": {"name": "others"}}}})


def configuration(secret: bytes) -> bytes:
    keys = [{"name": "one", "secret": base64.b64encode(secret * 32).decode()}]
    providers = [{"secretbox": {"keys": keys}}, {"identity": {}}]
    content = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"providers": providers, "resources": ["secrets"]}],
    }
    return reencoded(yaml.safe_dump(content).encode())


FIRST, SECOND = configuration(b"1"), configuration(b"2")


class Place:
    """A management API, somebody who writes to it, and who follows Secrets there."""

    def __init__(self, server: ApiServer) -> None:
        world = virtual_world()
        self.server = server
        self.user = Client(InProcessTransport(server), world=world)
        self.asked: list[str] = []
        self.told: list[Key] = []
        client = Client(InProcessTransport(server), world=world, told=self._ask)
        self.secrets = EncryptionSecrets(client, world, self.told.append)

    def _ask(self, verb: str, resource: str, status: int, seconds: float) -> None:
        self.asked.append(verb)

    async def quiet(self) -> None:
        await self.server.settled()
        await asyncio.sleep(0.1)

    async def create(self, name: str, content: bytes) -> None:
        data = {"config.yaml": base64.b64encode(content).decode()}
        await self.user.create(CLUSTER_SECRETS, {"metadata": {"name": name, "namespace": "default"}, "data": data})
        await self.quiet()


def in_place(scenario: Callable[[Place], Awaitable[None]]) -> None:
    async def main() -> None:
        server = await ApiServer.start(Config(), virtual_world())
        place = Place(server)
        try:
            await scenario(place)
        finally:
            await place.secrets.close()
            await server.stop()

    run(main())


def test_a_secret_that_comes_changes_and_goes_is_told_each_time() -> None:
    async def scenario(place: Place) -> None:
        content, problem = await place.secrets.read(PLANE)
        assert (content, problem) == (
            b"",
            "Secret default/keys, which spec.apiServer.encryption names, does not exist. Create it.",
        )
        await place.quiet()
        await place.create("keys", FIRST)
        assert place.told == [Key("default", "one")]
        assert await place.secrets.read(PLANE) == (FIRST, "")
        second = {"data": {"config.yaml": base64.b64encode(SECOND).decode()}}
        await place.user.patch(CLUSTER_SECRETS, "default", "keys", Merge(second))
        await place.quiet()
        assert len(place.told) == 2
        assert await place.secrets.read(PLANE) == (SECOND, "")
        await place.user.delete(CLUSTER_SECRETS, "default", "keys")
        await place.quiet()
        assert len(place.told) == 3
        assert (await place.secrets.read(PLANE))[0] == b""

    in_place(scenario)


def test_a_secret_that_is_followed_is_not_asked_for_again() -> None:
    async def scenario(place: Place) -> None:
        await place.create("keys", FIRST)
        assert await place.secrets.read(PLANE) == (FIRST, "")
        await place.quiet()
        place.asked.clear()
        for _ in range(3):
            assert await place.secrets.read(PLANE) == (FIRST, "")
        assert place.asked == []

    in_place(scenario)


def test_only_what_is_named_is_followed() -> None:
    async def scenario(place: Place) -> None:
        await place.create("keys", FIRST)
        await place.create("others", SECOND)
        assert await place.secrets.read(PLAIN) == (b"", "")
        assert await place.secrets.read(PLANE) == (FIRST, "")
        assert await place.secrets.read(OTHER) == (SECOND, "")
        await place.quiet()
        place.told.clear()
        await place.user.delete(CLUSTER_SECRETS, "default", "keys")
        await place.quiet()
        assert place.told == []
        assert await place.secrets.read(PLAIN) == (b"", "")
        await place.user.delete(CLUSTER_SECRETS, "default", "others")
        await place.quiet()
        assert place.told == []

    in_place(scenario)


def test_a_secret_without_its_key_says_what_is_missing() -> None:
    async def scenario(place: Place) -> None:
        await place.create("keys", b"")
        assert (await place.secrets.read(PLANE))[1].endswith("has no config.yaml. Put it there.")

    in_place(scenario)


def test_a_configuration_that_names_a_socket_is_refused_by_secret_and_key() -> None:
    async def scenario(place: Place) -> None:
        kms = b'"kms":{"apiVersion":"v2","name":"x","endpoint":"unix:///run/containerd/containerd.sock"}'
        await place.create("keys", FIRST.replace(b'"identity":{}', kms))
        content, problem = await place.secrets.read(PLANE)
        assert content == b""
        assert problem.startswith("Secret default/keys, which spec.apiServer.encryption names, has a config.yaml that ")
        assert "A kms provider is not accepted" in problem
        assert "containerd" not in problem

    in_place(scenario)
