"""What a hosted control plane waits for, told by those who have it: a Secret of the user, and Nodes of the tenant."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator

import pytest

from support.hosting import Hosting, Tenant, eventually, manifests
from support.real import installed_binaries

pytestmark = pytest.mark.long("waits for real Kubernetes programs, which take seconds to start and to converge")

OLD, NEW = "v1.35.4", "v1.36.3"


@pytest.fixture(scope="module")
def hosting() -> Iterator[Hosting]:
    installed_binaries(("kube-apiserver", "kube-controller-manager", "kube-scheduler"), OLD)
    with Hosting() as found:
        yield found


def keys(hosting: Hosting, *names: str) -> None:
    """Declare how data is encrypted: with the first key, and read with all."""
    listed = [{"name": each, "secret": base64.b64encode(secrets.token_bytes(32)).decode()} for each in names]
    content = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": [{"secretbox": {"keys": listed}}, {"identity": {}}]}],
    }
    metadata = {"name": "keys", "namespace": "default"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "stringData": {"config.yaml": json.dumps(content)},
    }
    hosting.apply(json.dumps(secret))


def kubelet(hosting: Hosting, tenant: Tenant, version: str) -> None:
    """Let the Node say which kubelet it has."""
    status = json.dumps({"status": {"nodeInfo": {"kubeletVersion": version}}})
    hosting.kubectl("patch", "node", "ancient", "--subresource=status", "--type=merge", "-p", status, tenant=tenant)


def test_a_key_that_is_provided_later_is_taken_at_once_and_nodes_hold_up_an_upgrade_until_they_are_new_enough(
    hosting: Hosting,
) -> None:
    encryption = {"encryption": {"configSecretRef": {"name": "keys"}}}
    hosting.apply(manifests("old", version=OLD, apiServer=encryption))
    told = "Secret default/keys, which spec.apiServer.encryption names, does not exist. Create it."
    eventually(lambda: told in hosting.condition("old", "APIServerReady").get("message", ""), "what is missing")
    keys(hosting, "first")
    old = hosting.tenant("old")
    eventually(lambda: hosting.holds("old", "TenantConfigured"), "the set-up of the tenant")

    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "ancient"}}
    hosting.kubectl("create", "-f", "-", stdin=json.dumps(node), tenant=old)
    kubelet(hosting, old, "v1.32.9")
    hosting.kubectl("patch", "hcp", "old", "--type=merge", "-p", json.dumps({"spec": {"version": NEW}}))

    def held() -> bool:
        found = hosting.condition("old", "UpgradePossible")
        return (found["status"], found["reason"]) == ("False", "NodesTooOld") and "ancient (v1.32.9)" in found[
            "message"
        ]

    eventually(held, "the refusal")
    assert hosting.plane("old")["status"]["version"] == OLD
    before = hosting.processes(old.uid)["kube-apiserver-0"]
    keys(hosting, "second", "first")
    eventually(lambda: hosting.processes(old.uid).get("kube-apiserver-0", before) != before, "another key")
    eventually(old.is_ready, "the API server with another key")
    assert hosting.plane("old")["status"]["version"] == OLD

    kubelet(hosting, old, "v1.33.0")
    eventually(lambda: hosting.plane("old")["status"]["version"] == NEW, "the upgrade")
    assert hosting.holds("old", "UpgradePossible")
