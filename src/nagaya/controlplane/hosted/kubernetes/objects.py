"""All objects of a control plane, in the order in which they are made: what others refer to comes first."""

from __future__ import annotations

from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER
from nagaya.controlplane.hosted.kubernetes import (
    api_server,
    controllers,
    disruption,
    files,
    names,
    network_policy,
    service,
)
from nagaya.controlplane.hosted.kubernetes.kinds import SERVICE_ACCOUNTS, Planned
from nagaya.controlplane.hosted.kubernetes.metadata import metadata
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy


def before_pods(tenancy: Tenancy) -> tuple[Planned, ...]:
    """What needs no certificates: the Service, from which the address may come that they are for, and the fences."""
    account = {**metadata(tenancy, KUBE_APISERVER), "automountServiceAccountToken": False}
    return (
        Planned(SERVICE_ACCOUNTS, tenancy.namespace, names.account_name(tenancy.name), account),
        service.planned(tenancy),
        network_policy.for_api_servers(tenancy),
        network_policy.for_controllers(tenancy),
        disruption.planned(tenancy, KUBE_APISERVER),
        disruption.planned(tenancy, names.CONTROLLERS),
    )


def objects(tenancy: Tenancy) -> tuple[Planned, ...]:
    """Everything. Raises ValueError, with the reason, if files are missing or the version is none that can be run."""
    return (
        *before_pods(tenancy),
        *files.planned(tenancy),
        api_server.planned(tenancy),
        controllers.planned(tenancy),
    )
