"""How the objects of the provider name Secrets, pools, connections and each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.model import Model, doc, rule

POOL_GROUP: Final = "ipam.cluster.x-k8s.io"
POOL_KINDS: Final = ("InClusterIPPool", "GlobalInClusterIPPool")


class SecretReference(Model):
    """A Secret."""

    __schema__: ClassVar[Mapping[str, object]] = {"map_type": "atomic"}

    name: Annotated[str, doc("The name of the Secret.", maxLength=253)] = ""
    namespace: Annotated[
        str,
        doc(
            "The namespace of the Secret. That of the object if left out. A Secret of another namespace must allow it "
            "in its annotation infrastructure.nagaya.dev/allowed-namespaces, and says itself which hosts are asked and "
            "trusted.",
            maxLength=63,
        ),
    ] = ""


class LocalReference(Model):
    """An object of the same namespace."""

    __schema__: ClassVar[Mapping[str, object]] = {"map_type": "atomic"}

    name: Annotated[str, doc("Its name.", maxLength=253)] = ""


class ConnectionReference(Model):
    """A ProxmoxConnection of the same namespace."""

    name: Annotated[str, doc("The name of the ProxmoxConnection.", minLength=1, maxLength=253)]


class PoolReference(Model):
    """A pool of addresses."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "map_type": "atomic",
        "rules": [
            rule(
                f"has(self.apiGroup) && self.apiGroup == '{POOL_GROUP}'",
                f"ipPoolRef allows only IPAM apiGroup {POOL_GROUP}",
            ),
            rule(
                " || ".join(f"self.kind == '{kind}'" for kind in POOL_KINDS),
                f"ipPoolRef allows either {' or '.join(POOL_KINDS)}",
            ),
        ],
    }

    api_group: Annotated[
        str, doc("The API group of the pool: ipam.cluster.x-k8s.io.", maxLength=253, required=False)
    ] = ""
    kind: Annotated[str, doc("The kind of the pool: InClusterIPPool or GlobalInClusterIPPool.", maxLength=63)]
    name: Annotated[str, doc("The name of the pool.", maxLength=253)]
