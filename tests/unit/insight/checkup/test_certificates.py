"""Certificates that end soon."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.cli.in_process import InProcessTransport
from nagaya.clusters.certificates.held import CLUSTER_SECRETS
from nagaya.clusters.certificates.kubeconfig import administrator_kubeconfig
from nagaya.insight.checkup.certificates import Expiry, check, of_members, secrets_of
from nagaya.insight.checkup.finding import Standing, Subject
from nagaya.insight.picture.member import member
from nagaya.kube.client import Client
from nagaya.pki import keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.world import SystemClock
from support.prepared import start_prepared
from support.virtual_run import run, virtual_world
from unit.insight.scene import Scene

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SUBJECT = Subject("Cluster default/demo")


def ends(days: float, what: str = "Secret demo-ca") -> Expiry:
    return Expiry(what, NOW + timedelta(days=days), f"renew {what}")


@pytest.mark.parametrize(
    ("days", "standing", "words"),
    [
        (300, Standing.OK, "The first ends on 2026-12-26 (Secret demo-ca)."),
        (20, Standing.WARNING, "Secret demo-ca ends on 2026-03-21."),
        (3, Standing.PROBLEM, "Secret demo-ca ends on 2026-03-04."),
        (-3, Standing.PROBLEM, "Secret demo-ca ended on 2026-02-26."),
    ],
)
def test_the_first_that_ends_decides(days: float, standing: Standing, words: str) -> None:
    found = check(SUBJECT, [ends(400, "other"), ends(days)], (), NOW)
    assert found is not None
    assert found.standing is standing
    assert found.evidence == words
    assert found.remedy == (() if standing is Standing.OK else ("renew Secret demo-ca",))


def test_what_cannot_be_read_is_told_and_nothing_is_nothing() -> None:
    assert check(SUBJECT, (), (), NOW) is None
    unread = check(SUBJECT, (), ("forbidden",), NOW)
    assert unread is not None
    assert unread.standing is Standing.UNCHECKED
    partly = check(SUBJECT, [ends(300)], ("forbidden",), NOW)
    assert partly is not None
    assert "Not read: forbidden" in partly.evidence


def test_objects_tell_of_their_certificates() -> None:
    scene = Scene()
    plane = scene.add("KubeadmControlPlane", "demo")
    scene.add("Machine", "a", owner=plane, status={"certificatesExpiryDate": "2026-03-10T00:00:00Z"})
    scene.add("Machine", "worker")
    listed = [{"name": "apiserver", "notAfter": "2026-04-01T00:00:00Z"}, {"name": "odd", "notAfter": "never"}]
    scene.add("HostedControlPlane", "demo", status={"certificates": listed})
    found = list(of_members(member(each) for each in scene.objects))
    assert [each.what for each in found] == ["Machine a", "apiserver of HostedControlPlane demo"]
    assert "kubectl patch -n default kubeadmcontrolplane demo" in found[0].remedy


def test_secrets_are_read_for_what_is_in_them() -> None:
    clock = SystemClock()
    authority = CertificateAuthority.create("kubernetes", clock)
    config = administrator_kubeconfig("demo", Endpoint(host="10.0.0.5", port=6443), authority, keys.generate(), clock)
    contents = {
        "demo-ca": {"tls.crt": authority.certificate_pem},
        "demo-kubeconfig": {"value": config},
        "demo-etcd": {"tls.crt": b"no certificate"},
    }

    async def main() -> tuple[list[Expiry], list[str]]:
        world = virtual_world()
        server = await start_prepared(world)
        client = Client(InProcessTransport(server), world=world)
        try:
            for name, data in contents.items():
                encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
                metadata = {"namespace": "default", "name": name}
                await client.create(CLUSTER_SECRETS, {"metadata": metadata, "data": encoded})
            return await secrets_of(client, "default", "demo")
        finally:
            await client.close()
            await server.stop()

    found, unread = run(main())
    assert [each.what for each in found] == ["Secret demo-ca", "Secret demo-kubeconfig"]
    assert found[1].ends < found[0].ends
    command, _, caution = found[1].remedy.partition("   # ")
    assert command == "kubectl delete -n default secret demo-kubeconfig"
    assert caution.startswith("only if demo-ca has its key")
    assert len(unread) == 1
    assert "Secret default/demo-etcd" in unread[0]


def test_one_that_is_not_valid_yet_is_a_problem() -> None:
    early = Expiry("Secret demo-ca", NOW + timedelta(days=4000), "renew", NOW + timedelta(days=370))
    found = check(SUBJECT, [ends(300), early], (), NOW)
    assert found is not None
    assert found.standing is Standing.PROBLEM
    assert found.evidence.startswith("Secret demo-ca is not valid before 2027-03-06: a clock that was ahead")
