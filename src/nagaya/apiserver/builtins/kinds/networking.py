"""The kinds of the group `networking.k8s.io`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.ingress import IngressStatusStrategy, IngressStrategy
from nagaya.apiserver.builtins.kinds.ingress_class import IngressClassStrategy
from nagaya.apiserver.builtins.kinds.ip_address import IPAddressStrategy
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.network_policy import NetworkPolicyStrategy
from nagaya.apiserver.builtins.kinds.service_cidr import ServiceCIDRStatusStrategy, ServiceCIDRStrategy
from nagaya.apiserver.meta.gvk import GroupResource

GROUP: Final = "networking.k8s.io"

_INGRESS: Final = IngressStrategy()
_SERVICE_CIDR: Final = ServiceCIDRStrategy()

KINDS: Final[Mapping[GroupResource, Kind]] = {
    GroupResource(GROUP, "ingressclasses"): Kind(IngressClassStrategy()),
    GroupResource(GROUP, "ingresses"): Kind(_INGRESS, {"status": IngressStatusStrategy(_INGRESS)}),
    GroupResource(GROUP, "ipaddresses"): Kind(IPAddressStrategy()),
    GroupResource(GROUP, "networkpolicies"): Kind(NetworkPolicyStrategy()),
    GroupResource(GROUP, "servicecidrs"): Kind(_SERVICE_CIDR, {"status": ServiceCIDRStatusStrategy(_SERVICE_CIDR)}),
}
