"""All checks, in the order in which they are reported."""

from __future__ import annotations

from typing import Final

from nagaya.cloud.lint.check import Check
from nagaya.cloud.lint.checks import (
    certificates,
    cloud_provider_flags,
    cluster_api_uninitialized,
    configuration,
    control_plane_taint,
    dns,
    endurance,
    eviction,
    host_network,
    host_ports,
    hosted,
    images,
    leader_election,
    network_addresses,
    network_taints,
    node_ip,
    not_ready,
    permissions,
    pod_security,
    provider_ids,
    routes,
    selector,
    service_address,
    spreading,
    uninitialized,
    webhooks,
)

CHECKS: Final[tuple[Check, ...]] = (
    uninitialized.CHECK,
    cluster_api_uninitialized.CHECK,
    not_ready.CHECK,
    eviction.CHECK,
    control_plane_taint.CHECK,
    selector.CHECK,
    host_network.CHECK,
    spreading.CHECK,
    host_ports.CHECK,
    dns.CHECK,
    service_address.CHECK,
    leader_election.CHECK,
    permissions.CHECK,
    network_taints.CHECK,
    network_addresses.CHECK,
    images.CHECK,
    cloud_provider_flags.CHECK,
    webhooks.CHECK,
    pod_security.CHECK,
    endurance.CHECK,
    configuration.CHECK,
    node_ip.CHECK,
    provider_ids.CHECK,
    routes.CHECK,
    certificates.CHECK,
    hosted.CHECK,
)


def check_of(identifier: str) -> Check | None:
    """A check by its identifier, in small letters or large."""
    return next((each for each in CHECKS if each.id.lower() == identifier.lower()), None)
