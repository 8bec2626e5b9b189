"""Where the credentials of tenants come from: the Secret `<cluster>-kubeconfig` beside each Cluster."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from nagaya.api.kind import Kind, Resource
from nagaya.kube.cache.cache import Cache
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from nagaya.kube.kubeconfig import KubeconfigError, parse_text
from nagaya.kube.remote import Remotes

CLUSTER_LABEL: Final = "cluster.x-k8s.io/cluster-name"
SUFFIX: Final = "-kubeconfig"
VALUE: Final = "value"
_NONE: Final[Mapping[str, str]] = {}


class TenantSecret(Resource):
    """A Secret of a cluster. Of other Secrets than kubeconfigs the content is not kept."""

    data: Mapping[str, str] = _NONE


TENANT_SECRETS: Final = Kind("", "v1", "Secret", "secrets", TenantSecret)


def follow_secrets(cache: Cache, remotes: Remotes) -> Callable[[], None]:
    """Offer the kubeconfigs in Secrets to the remotes, now and whenever they change. Returns what ends that.

    As in Cluster API, the Secret must carry the label with the name of the cluster.
    """
    cache.start(TENANT_SECRETS, labels=CLUSTER_LABEL, transform=_trim)

    def handle(change: Change[TenantSecret]) -> None:
        metadata = change.object.metadata
        if not metadata.name.endswith(SUFFIX):
            return
        key = Key(metadata.namespace, metadata.name.removesuffix(SUFFIX))
        value = None if change.new is None else change.new.data.get(VALUE)
        source = f"Secret {metadata.namespace}/{metadata.name}"
        if value is None:
            remotes.offer(key, None, f"{source} does not exist or has no {VALUE}")
            return
        try:
            remotes.offer(key, parse_text(base64.b64decode(value), source=source))
        except (KubeconfigError, binascii.Error) as error:
            remotes.offer(key, None, f"{source}: {error}")

    return cache.subscribe(TENANT_SECRETS, handle)


def _trim(secret: TenantSecret) -> TenantSecret:
    if secret.metadata.name.endswith(SUFFIX):
        return secret
    return msgspec.structs.replace(secret, data=_NONE)
