"""The Secret `<cluster>-ca`: the authority of a cluster, which its API and its kubeconfig are made from."""

from __future__ import annotations

from typing import Any

from nagaya.api.cluster.cluster import Cluster
from nagaya.api.cluster.secrets import AUTHORITY, secret_of
from nagaya.kube.key import Key
from nagaya.pki import keys
from nagaya.pki.kubeadm.authorities import CLUSTER
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.issuing import new_authority
from nagaya.pki.secret_data import data_of
from nagaya.world import Clock


def authority_key(cluster: Key) -> Key:
    """The key of the Secret."""
    return Key(cluster.namespace, cluster.name + AUTHORITY)


def authority_secret(cluster: Cluster, clock: Clock) -> dict[str, Any]:
    """A Secret with a new authority, which goes with its Cluster."""
    return secret_of(cluster, AUTHORITY, data_of(new_authority(CLUSTER, Inputs(), keys.generate(), clock)))
