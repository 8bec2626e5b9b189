from __future__ import annotations

import base64

from nagaya.api.cluster.secrets import AUTHORITY, Purpose, new_secret, secret_name, secret_of
from nagaya.api.meta import OwnerReference
from support.seen_cluster import bare_cluster

OWNER = OwnerReference(api_version="v1", kind="ConfigMap", name="o", uid="1", controller=True)


def test_secrets_have_upstreams_names() -> None:
    assert [secret_name("harbour", each) for each in Purpose] == [
        "harbour-ca",
        "harbour-sa",
        "harbour-proxy",
        "harbour-etcd",
        "harbour-apiserver-etcd-client",
        "harbour-kubeconfig",
    ]


def test_a_secret_is_labelled_typed_and_owned() -> None:
    assert new_secret("fleet", "harbour", Purpose.SERVICE_ACCOUNTS, {"tls.key": b"x"}, OWNER) == {
        "metadata": {
            "name": "harbour-sa",
            "namespace": "fleet",
            "labels": {"cluster.x-k8s.io/cluster-name": "harbour"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1", "controller": True}],
        },
        "type": "cluster.x-k8s.io/secret",
        "data": {"tls.key": base64.b64encode(b"x").decode()},
    }


def test_a_secret_may_belong_to_its_cluster() -> None:
    made = secret_of(bare_cluster().made(), AUTHORITY, {})
    assert made["metadata"]["name"] == "harbour-ca"
    assert [each["kind"] for each in made["metadata"]["ownerReferences"]] == ["Cluster"]
