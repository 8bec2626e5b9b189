"""Who holds the Secret with the credentials, and when it is let go."""

from __future__ import annotations

from typing import Any

from nagaya.api.proxmox.group import SECRET_FINALIZER
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.infrastructure.proxmox.cluster.secret_hold import held, let_go
from nagaya.infrastructure.proxmox.connection.secrets import CREDENTIALS, CredentialsSecret


def cluster(name: str = "shop") -> ProxmoxCluster:
    metadata = {"name": name, "namespace": "default", "uid": f"{name}-uid"}
    return PROXMOX_CLUSTERS.convert({"metadata": metadata, "spec": {}})


def secret(namespace: str = "default", **metadata: Any) -> CredentialsSecret:
    return CREDENTIALS.convert({"metadata": {"name": "pve", "namespace": namespace, **metadata}})


def with_hold(before: CredentialsSecret, *clusters: ProxmoxCluster) -> CredentialsSecret:
    for each in clusters:
        hold = held(before, each)
        owners = [
            {"apiVersion": o.api_version, "kind": o.kind, "name": o.name, "uid": o.uid} for o in hold.owners
        ]  # fmt: skip
        before = secret(before.metadata.namespace, finalizers=[*hold.finalizers], ownerReferences=owners)
    return before


def test_holding_again_changes_nothing() -> None:
    once = with_hold(secret(finalizers=["other"]), cluster())
    assert once.metadata.finalizers == ("other", SECRET_FINALIZER)
    again = held(once, cluster())
    assert (again.finalizers, again.owners) == (once.metadata.finalizers, once.metadata.owner_references)


def test_a_secret_of_another_namespace_is_not_held() -> None:
    hold = held(secret("vault", finalizers=["other"]), cluster())
    assert (hold.finalizers, hold.owners) == (("other",), ())


def test_the_finalizer_of_capmox_on_a_secret_of_another_namespace_goes_with_the_last_cluster() -> None:
    before = secret("vault", finalizers=["other", SECRET_FINALIZER])
    assert let_go(before, cluster(), shared=True).finalizers == ("other", SECRET_FINALIZER)
    assert let_go(before, cluster(), shared=False).finalizers == ("other",)


def test_the_last_one_lets_go() -> None:
    both = with_hold(secret(), cluster("shop"), cluster("mill"))
    first = let_go(both, cluster("shop"), shared=True)
    assert first.finalizers == (SECRET_FINALIZER,)
    assert [each.name for each in first.owners] == ["mill"]
    last = let_go(with_hold(secret(), cluster("mill")), cluster("mill"), shared=False)
    assert (last.finalizers, last.owners) == ((), ())
