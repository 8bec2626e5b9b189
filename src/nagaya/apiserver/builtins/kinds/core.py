"""The kinds of the core group except pods and their kin, and those of three small groups that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.config_map import ConfigMapStrategy
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy
from nagaya.apiserver.builtins.kinds.endpoint_slice import EndpointSliceStrategy
from nagaya.apiserver.builtins.kinds.endpoints import EndpointsStrategy
from nagaya.apiserver.builtins.kinds.event import EventsStrategy, EventStrategy
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.lease import LeaseStrategy
from nagaya.apiserver.builtins.kinds.limit_range import LimitRangeStrategy
from nagaya.apiserver.builtins.kinds.namespace import (
    NamespaceFinalizeStrategy,
    NamespaceStatusStrategy,
    NamespaceStrategy,
)
from nagaya.apiserver.builtins.kinds.node import NodeStatusStrategy, NodeStrategy
from nagaya.apiserver.builtins.kinds.persistent_volume import PersistentVolumeStatusStrategy, PersistentVolumeStrategy
from nagaya.apiserver.builtins.kinds.persistent_volume_claim import (
    PersistentVolumeClaimStatusStrategy,
    PersistentVolumeClaimStrategy,
)
from nagaya.apiserver.builtins.kinds.resource_quota import ResourceQuotaStatusStrategy, ResourceQuotaStrategy
from nagaya.apiserver.builtins.kinds.secret import SecretStrategy
from nagaya.apiserver.builtins.kinds.service import services
from nagaya.apiserver.builtins.kinds.service_account import ServiceAccountStrategy
from nagaya.apiserver.meta.gvk import GroupResource


def _with_status(main: CoreStrategy, status: Callable[[CoreStrategy], CoreStatusStrategy]) -> Kind:
    return Kind(main, {"status": status(main)})


def _namespaces() -> Kind:
    main = NamespaceStrategy()
    return Kind(main, {"status": NamespaceStatusStrategy(main), "finalize": NamespaceFinalizeStrategy(main)})


KINDS: Final[Mapping[GroupResource, Kind | Callable[[], Kind]]] = {
    GroupResource("", "configmaps"): Kind(ConfigMapStrategy()),
    GroupResource("", "endpoints"): Kind(EndpointsStrategy()),
    GroupResource("", "events"): Kind(EventStrategy()),
    GroupResource("", "limitranges"): Kind(LimitRangeStrategy()),
    GroupResource("", "namespaces"): _namespaces(),
    GroupResource("", "nodes"): _with_status(NodeStrategy(), NodeStatusStrategy),
    GroupResource("", "persistentvolumeclaims"): _with_status(
        PersistentVolumeClaimStrategy(), PersistentVolumeClaimStatusStrategy
    ),
    GroupResource("", "persistentvolumes"): _with_status(PersistentVolumeStrategy(), PersistentVolumeStatusStrategy),
    GroupResource("", "resourcequotas"): _with_status(ResourceQuotaStrategy(), ResourceQuotaStatusStrategy),
    GroupResource("", "secrets"): Kind(SecretStrategy()),
    GroupResource("", "serviceaccounts"): Kind(ServiceAccountStrategy()),
    GroupResource("", "services"): services,
    GroupResource("coordination.k8s.io", "leases"): Kind(LeaseStrategy()),
    GroupResource("discovery.k8s.io", "endpointslices"): Kind(EndpointSliceStrategy()),
    GroupResource("events.k8s.io", "events"): Kind(EventsStrategy()),
}
