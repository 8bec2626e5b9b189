from __future__ import annotations

import asyncio
import base64
import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.cluster.machine_pool import MACHINE_POOLS
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.errors import NotFound
from nagaya.kube.patches import Merge
from support.harbour import CLUSTER, NAMESPACE, SECRETS
from support.virtual_run import run
from unit.bootstrap.kubeadm_config.shipyard import Shipyard, shipyard

pytestmark = pytest.mark.slow

CONFIG_MAPS = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
LOCK = f"{CLUSTER}-lock"


async def lock(yard: Shipyard) -> dict[str, Any] | None:
    try:
        return (await yard.here.user.get(CONFIG_MAPS, NAMESPACE, LOCK)).raw
    except NotFound:
        return None


def test_nothing_is_made_before_the_infrastructure() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(infrastructure=False)
            await yard.machine("first", control_plane=True)
            waits = ("False", "NotAvailable", "Waiting for Cluster status.infrastructureReady to be true")
            assert await yard.told("first", "DataSecretAvailable") == waits
            assert await yard.data("first") == b""

    run(main())


def test_the_first_machine_starts_the_cluster_with_authorities_of_its_own() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster()
            await yard.machine("first", control_plane=True)
            files, documents = await yard.files("first"), await yard.kubeadm("first")
            assert documents["ClusterConfiguration"]["clusterName"] == CLUSTER
            assert documents["ClusterConfiguration"]["controlPlaneEndpoint"] == "10.0.0.1:6443"
            assert documents["ClusterConfiguration"]["networking"]["podSubnet"] == "10.1.0.0/16"
            assert "InitConfiguration" in documents
            assert "PRIVATE KEY" in files["/etc/kubernetes/pki/ca.key"]
            for purpose in ("ca", "etcd", "proxy", "sa"):
                assert await yard.here.exists(SECRETS, f"{CLUSTER}-{purpose}")
            config = await yard.seen("first")
            assert config.status.initialization.data_secret_created
            assert config.status.observed_generation == config.metadata.generation
            assert config.spec.cluster_configuration.control_plane_endpoint == "10.0.0.1:6443"
            for type in ("Ready", "DataSecretAvailable", "CertificatesAvailable"):
                assert (await yard.told("first", type))[0] == "True"
            secret = (await yard.here.user.get(SECRETS, NAMESPACE, "first")).raw
            assert secret["type"] == "cluster.x-k8s.io/secret"
            assert secret["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": CLUSTER}
            [owner] = secret["metadata"]["ownerReferences"]
            assert (owner["kind"], owner["name"], owner["controller"]) == ("KubeadmConfig", "first", True)

    run(main())


def test_authorities_are_waited_for_where_a_control_plane_makes_them() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            reference = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "BoatControlPlane", "name": CLUSTER}
            await yard.cluster(controlPlaneRef=reference)
            await yard.machine("first", control_plane=True)
            status, reason, message = await yard.told("first", "CertificatesAvailable")
            assert (status, reason) == ("Unknown", "InternalError")
            assert f"Waiting for Secrets {NAMESPACE}/{CLUSTER}-ca" in message
            assert not await yard.here.exists(SECRETS, f"{CLUSTER}-ca")
            assert await lock(yard) is None

    run(main())


def test_only_one_machine_starts_the_cluster() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster()
            await yard.machine("first", control_plane=True)
            await yard.machine("second", control_plane=True)
            held = await lock(yard)
            assert held is not None
            assert held["data"] == {"lock-information": '{"machineName": "first"}'}
            assert held["metadata"]["ownerReferences"][0]["kind"] == "Cluster"
            assert await yard.data("second") == b""
            assert (await yard.told("second", "DataSecretAvailable"))[2] == "Waiting for Machine first to initialize"

    run(main())


def test_a_machine_that_is_gone_has_lost_the_lock() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster()
            await yard.machine("first", control_plane=True)
            await yard.machine("second", control_plane=True)
            await yard.here.delete(MACHINES, "first")
            await asyncio.sleep(61)
            assert "InitConfiguration" in await yard.kubeadm("second")

    run(main())


def test_others_wait_for_the_control_plane() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster()
            await yard.machine("worker")
            waits = ("False", "NotAvailable", "Waiting for Cluster control plane to be initialized")
            assert await yard.told("worker", "DataSecretAvailable") == waits

    run(main())


def test_a_worker_joins_with_a_token_and_without_keys() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.machine("worker")
            [name], [token] = yard.tokens.keys(), yard.tokens.values()
            assert name == f"bootstrap-token-{token['token-id']}"
            assert token["auth-extra-groups"] == "system:bootstrappers:kubeadm:default-node-token"
            expires = datetime.fromisoformat(token["expiration"]) - yard.here.world.clock.now()
            assert timedelta(minutes=14) < expires <= timedelta(minutes=15)
            join = (await yard.kubeadm("worker"))["JoinConfiguration"]
            by_token = join["discovery"]["bootstrapToken"]
            assert by_token["token"] == f"{token['token-id']}.{token['token-secret']}"
            assert by_token["apiServerEndpoint"] == "10.0.0.1:6443"
            assert by_token["caCertHashes"][0].startswith("sha256:")
            assert join["nodeRegistration"]["taints"] == [
                {"key": "node.cluster.x-k8s.io/uninitialized", "effect": "NoSchedule"}
            ]
            assert b"PRIVATE KEY" not in await yard.data("worker")

    run(main())


def test_a_further_control_plane_machine_gets_the_keys() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster()
            await yard.machine("first", control_plane=True)
            await yard.initialize()
            await yard.machine("second", control_plane=True)
            join = (await yard.kubeadm("second"))["JoinConfiguration"]
            assert "controlPlane" in join
            assert "/etc/kubernetes/pki/etcd/ca.key" in await yard.files("second")
            assert (await yard.seen("second")).spec.join_configuration.control_plane is not None
            assert await lock(yard) is None

    run(main())


def test_a_token_lives_until_its_machine_has_joined_and_is_revoked_then() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.machine("worker")
            [(name, before)] = yard.tokens.items()
            await asyncio.sleep(3600)
            [(same, after)] = yard.tokens.items()
            assert same == name
            assert after["expiration"] > before["expiration"]
            assert datetime.fromisoformat(after["expiration"]) > yard.here.world.clock.now()
            data = await yard.data("worker")
            await yard.joined("worker")
            config = await yard.seen("worker")
            assert yard.tokens == {}
            assert config.spec.join_configuration.discovery.bootstrap_token.token == ""
            assert config.spec.join_configuration.discovery.bootstrap_token.ca_cert_hashes
            assert await yard.data("worker") == data
            writes = await yard.here.writes()
            await asyncio.sleep(3600)
            assert await yard.here.writes() == writes

    run(main())


def test_a_token_that_vanished_before_its_machine_came_is_there_again() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.machine("worker")
            before = yard.tokens
            yard.tenant.objects = {
                place: each for place, each in yard.tenant.objects.items() if "secrets" not in place[0]
            }
            await asyncio.sleep(301)
            await yard.here.settled()
            assert yard.tokens.keys() == before.keys()

    run(main())


def test_a_token_of_the_user_is_used_and_not_revoked() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            token = "abcdef.0123456789abcdef"
            await yard.machine("worker", joinConfiguration={"discovery": {"bootstrapToken": {"token": token}}})
            assert (await yard.kubeadm("worker"))["JoinConfiguration"]["discovery"]["bootstrapToken"]["token"] == token
            await yard.joined("worker")
            config = await yard.seen("worker")
            assert config.spec.join_configuration.discovery.bootstrap_token.token == token
            assert list(yard.tokens) == ["bootstrap-token-abcdef"]

    run(main())


def test_a_token_in_the_wrong_form_is_refused_without_being_repeated() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.machine("worker", joinConfiguration={"discovery": {"bootstrapToken": {"token": "hunter2"}}})
            status, _, message = await yard.told("worker", "DataSecretAvailable")
            assert status == "False"
            assert "discovery.bootstrapToken.token" in message
            assert "hunter2" not in message

    run(main())


def test_pools_get_a_fresh_token_for_machines_that_are_still_to_come() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.pool("pool")
            [first] = yard.tokens
            await yard.here.change(MACHINE_POOLS, "pool", status={"nodeRefs": [{"name": "a"}]})
            await asyncio.sleep(601)
            await yard.here.settled()
            tokens = yard.tokens
            assert len(tokens) == 2
            [second] = tokens.keys() - {first}
            join = (await yard.kubeadm("pool"))["JoinConfiguration"]
            assert f"bootstrap-token-{join['discovery']['bootstrapToken']['token'][:6]}" == second

    run(main())


def test_a_tenant_that_cannot_be_reached_is_named_as_the_reason() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            yard.tenant.down = True
            await yard.cluster(initialized=True)
            await yard.machine("worker")
            status, reason, message = await yard.told("worker", "DataSecretAvailable")
            assert (status, reason) == ("False", "NotAvailable")
            assert message.startswith("Waiting for the cluster to make a bootstrap token: ")
            yard.tenant.down = False
            await asyncio.sleep(60)
            assert await yard.data("worker")

    run(main())


def test_the_status_is_restored_after_a_move() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.machine("worker")
            await yard.here.change(MACHINES, "worker", spec={"bootstrap": {"dataSecretName": "worker"}})
            emptied = {"status": None}
            await yard.here.process.stop()
            await yard.here.user.patch(KUBEADM_CONFIGS, NAMESPACE, "worker", Merge(emptied), subresource="status")
            await yard.here.restart()
            config = await yard.seen("worker")
            assert config.status.data_secret_name == "worker"
            assert config.status.initialization.data_secret_created
            assert len(yard.tokens) == 1

    run(main())


def test_contents_come_from_secrets_and_what_is_missing_is_named() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            files = [
                {"path": "/etc/motd", "contentFrom": {"secret": {"name": "motd", "key": "text"}}},
                {"path": "/etc/version", "content": "{{ .controlPlane }}", "contentFormat": "Template"},
            ]
            users = [{"name": "admin", "passwdFrom": {"secret": {"name": "motd", "key": "hash"}}}]
            await yard.machine("worker", files=files, users=users)
            message = (await yard.told("worker", "DataSecretAvailable"))[2]
            assert message == f"spec.files[0].contentFrom: Secret {NAMESPACE}/motd does not exist. Create it."
            await yard.secret("motd", text=b"ahoy\n")
            await asyncio.sleep(11)
            message = (await yard.told("worker", "DataSecretAvailable"))[2]
            assert message == f"spec.users[0].passwdFrom: Secret {NAMESPACE}/motd has no entry 'hash'. Add it."
            await yard.here.change(SECRETS, "motd", data={"hash": "JDYk"})
            await asyncio.sleep(11)
            found = await yard.files("worker")
            assert found["/etc/motd"] == "ahoy\n"
            assert found["/etc/version"].strip() == "<no value>"
            assert b"$6$" in await yard.data("worker")

    run(main())


def test_a_template_that_cannot_be_read_is_refused_with_its_field() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.machine("worker", files=[{"path": "/a", "content": "{{ .x", "contentFormat": "Template"}])
            message = (await yard.told("worker", "DataSecretAvailable"))[2]
            assert message.startswith("spec.files[0].content: template: /a:1: unclosed action.")

    run(main())


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([{"contentFrom": {"secret": {"name": "large", "key": "text"}}}] * 2, r"spec.files\[1\]: .*1024 KiB together"),
        (
            [{"contentFrom": {"secret": {"name": "large", "key": "text"}}, "contentFormat": "Template"}],
            r"spec.files\[0\].content: the templates up to this one have more than 128 KiB",
        ),
        (
            [{"content": "{{range 2000}}{{end}}", "contentFormat": "Template"}] * 100,
            r"spec.files\[0\].content: .*rendering takes more than 1000 steps",
        ),
    ],
    ids=["contents", "templates", "steps"],
)
def test_all_files_of_a_machine_share_one_limit(files: list[dict[str, Any]], message: str) -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.secret("large", text=b"\x01: " * 200_000)
            await yard.machine("worker", files=[{"path": f"/{number}", **each} for number, each in enumerate(files)])
            assert re.match(message, (await yard.told("worker", "DataSecretAvailable"))[2])

    run(main())


def test_a_password_is_no_book() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.secret("large", text=b"x" * 2000)
            users = [{"name": "admin", "passwdFrom": {"secret": {"name": "large", "key": "text"}}}]
            await yard.machine("worker", users=users)
            message = (await yard.told("worker", "DataSecretAvailable"))[2]
            assert message == ("spec.users[0].passwdFrom: it has more than 1024 characters. Use a hashed password.")

    run(main())


def test_a_lost_authority_is_not_made_anew() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.here.delete(SECRETS, f"{CLUSTER}-ca")
            await yard.machine("worker")
            status, _, message = await yard.told("worker", "CertificatesAvailable")
            assert status == "Unknown"
            assert "from a backup" in message
            assert not await yard.here.exists(SECRETS, f"{CLUSTER}-ca")

    run(main())


def test_a_paused_config_is_left_alone() -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster(initialized=True)
            await yard.here.change(CLUSTERS, spec={"paused": True})
            await yard.machine("worker")
            assert await yard.data("worker") == b""
            assert (await yard.told("worker", "Paused"))[0] == "True"
            await yard.here.change(CLUSTERS, spec={"paused": None})
            assert await yard.data("worker")
            assert (await yard.told("worker", "Paused"))[0] == "False"

    run(main())


@pytest.mark.parametrize("lives", range(1, 8))
def test_a_crash_at_any_write_makes_neither_a_second_token_nor_other_authorities(lives: int) -> None:
    async def main() -> None:
        async with shipyard() as yard:
            await yard.cluster()
            await yard.here.restart(lives)
            await yard.machine("first", control_plane=True)
            await yard.here.restart(lives)
            await yard.here.settled()
            await yard.here.restart()
            await yard.initialize()
            first = await yard.files("first")
            secret = await yard.here.user.get(SECRETS, NAMESPACE, f"{CLUSTER}-ca")
            assert _decoded(secret.raw["data"]["tls.key"]) == first["/etc/kubernetes/pki/ca.key"]
            await yard.here.restart(lives)
            await yard.machine("worker")
            await yard.here.restart()
            join = (await yard.kubeadm("worker"))["JoinConfiguration"]
            [token] = yard.tokens.values()
            assert join["discovery"]["bootstrapToken"]["token"] == f"{token['token-id']}.{token['token-secret']}"

    run(main())


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
