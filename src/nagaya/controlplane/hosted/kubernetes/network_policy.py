"""NetworkPolicies: the world reaches the API and nothing else, and the controllers reach the API and nothing else.

API servers call webhooks, kubelets and the data store, anywhere, but never the API of the management cluster. Probes of
kubelets are let through by every network plugin.
"""

from __future__ import annotations

from ipaddress import ip_network
from typing import Final

from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.kubernetes.kinds import NETWORK_POLICIES, Content, Planned
from nagaya.controlplane.hosted.kubernetes.metadata import metadata
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy

_ANYWHERE: Final = {4: "0.0.0.0/0", 6: "::/0"}
_DNS: Final = [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]


def for_api_servers(tenancy: Tenancy) -> Planned:
    """Everybody in, by the ports that are served; out to everywhere but the management API."""
    facts = tenancy.facts
    ports = [facts.serving.port, *([facts.tunnel.agent_port] if facts.tunnel is not None else [])]
    inwards = {"ports": [{"port": port, "protocol": "TCP"} for port in ports]}
    blocks = [_block(tenancy, version) for version in _ANYWHERE]
    return _policy(tenancy, KUBE_APISERVER, [inwards], [{"to": blocks}])


def for_controllers(tenancy: Tenancy) -> Planned:
    """Nobody in; out to the API servers, and to DNS by which they are found."""
    api = {
        "to": [{"podSelector": {"matchLabels": names.selector(tenancy.name, KUBE_APISERVER)}}],
        "ports": [{"port": tenancy.facts.serving.port, "protocol": "TCP"}],
    }
    return _policy(tenancy, names.CONTROLLERS, [], [api, {"ports": [*_DNS]}])


def _policy(tenancy: Tenancy, part: str, ingress: list[Content], egress: list[Content]) -> Planned:
    spec: Content = {
        "podSelector": {"matchLabels": names.selector(tenancy.name, part)},
        "policyTypes": ["Ingress", "Egress"],
        "egress": egress,
    }
    if ingress:
        # An empty list means the same as none, but the server drops it, and each apply would be a change.
        spec["ingress"] = ingress
    body = {**metadata(tenancy, part), "spec": spec}
    return Planned(NETWORK_POLICIES, tenancy.namespace, names.object_name(tenancy.name, part), body)


def _block(tenancy: Tenancy, version: int) -> Content:
    forbidden = sorted(each for each in tenancy.management_cidrs if ip_network(each).version == version)
    block: Content = {"cidr": _ANYWHERE[version]}
    if forbidden:
        block["except"] = forbidden
    return {"ipBlock": block}
