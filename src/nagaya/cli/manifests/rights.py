"""What the controllers may do in the management cluster: for each part what it really uses, and nothing else.

A test runs the controllers as the ServiceAccount that has exactly these rights, and counts what was forbidden: none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from nagaya.api.catalog import PARTS
from nagaya.api.conversion.proxmox.objects import KINDS as CONVERTED
from nagaya.api.proxmox.group import GROUP as PROXMOX
from nagaya.clusters.leases import BESIDE_API, ELECTED
from nagaya.clusters.management import FIRST_NAMESPACE

Rule = dict[str, Any]

READ: Final = ("get", "list", "watch")
MAKE: Final = (*READ, "create", "patch")
ALL: Final = (*MAKE, "delete")
_OWNED: Final = ("patch", "delete")
"""Nobody deletes these. But where the API guards owners (OwnerReferencesPermissionEnforcement, as OpenShift does), only
who may delete an object may write down whose it is."""
WRITTEN: Final[Mapping[str, tuple[str, ...]]] = {
    "clusterresourcesetbindings": ("create", "patch", "delete"),
    "clusterresourcesets": ("patch",),
    "clusters": ("patch",),
    "datastores": ("create", "patch"),  # the usual one is made where nobody made another
    "globalinclusterippools": ("patch",),
    "hostedcontrolplanes": ("patch", "delete"),
    "inclusterippools": ("create", "patch"),  # of the addresses that a ProxmoxCluster names
    "ipaddressclaims": ("create", "patch", "delete"),
    "ipaddresses": ("create", "patch", "delete"),
    "ipaddressreservations": ("create", "patch", "delete"),
    "kubeadmconfigs": ("create", "patch", "delete"),
    "kubeadmconfigtemplates": _OWNED,
    "kubeadmcontrolplanes": ("patch", "delete"),
    "machinedeployments": ("patch", "delete"),
    "machinehealthchecks": _OWNED,
    "machinepools": ("delete",),  # with their Cluster; everything else of them is somebody else's
    "machines": ("create", "patch", "delete"),
    "machinesets": ("create", "patch", "delete"),
    "proxmoxclusters": ("patch", "delete"),
    "proxmoxconnections": ("patch",),
    "proxmoxmachines": ("create", "patch", "delete"),
    "proxmoxmachinetemplates": _OWNED,
    "proxmoxvirtualmachines": ("create", "patch", "delete"),
    "simulatedclusters": ("patch", "delete"),
    "simulatedmachines": ("create", "patch", "delete"),
    "simulatedmachinetemplates": _OWNED,
}
"""What controllers do with objects of our kinds beside reading them; with those of all others nothing."""
AGGREGATED: Final = "cluster.x-k8s.io/aggregate-to-manager"
"""Label of ClusterRoles by which providers of Cluster API give the core rights to their kinds."""
ADMISSION: Final = "nagaya"
"""The name of the webhook configurations."""
_HOSTED: Final = "controlplane-hosted"
_CRDS: Final = "customresourcedefinitions"
_REGISTRATION: Final = "admissionregistration.k8s.io"
_WEBHOOKS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")

_OF_PARTS: Final[Mapping[str, Sequence[Rule]]] = {
    "bootstrap-kubeadm": (
        # Which machine initializes a cluster is decided by who makes this first.
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "delete"]},
    ),
    "addons": ({"apiGroups": [""], "resources": ["configmaps"], "verbs": [*READ, *_OWNED]},),
    "infrastructure-proxmox": (
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]},
        # Its uid tells this management API from others: VMs are marked with it.
        {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": [FIRST_NAMESPACE], "verbs": ["get"]},
    ),
    _HOSTED: (
        {"apiGroups": [""], "resources": ["configmaps", "services", "serviceaccounts"], "verbs": [*MAKE]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": [*READ]},
        # Deployments go first, when all is to go; the rest goes with its owner.
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": [*ALL]},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": [*MAKE]},
        {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": [*MAKE]},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list"]},
    ),
}
_OF_ALL: Final[Sequence[Rule]] = (
    # Kubeconfigs, authorities, boot data, credentials: made, and given an owner.
    {"apiGroups": [""], "resources": ["secrets"], "verbs": [*READ, "create", *_OWNED]},
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    {"apiGroups": ["apiextensions.k8s.io"], "resources": [_CRDS], "verbs": [*READ]},
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": [BESIDE_API.name],
        "verbs": ["get"],
    },
)


def cluster_rules(parts: Collection[str]) -> list[Rule]:
    """The rights in the whole cluster."""
    found = [*_own_kinds(parts), *_OF_ALL]
    for part in parts:
        found += _OF_PARTS.get(part, ())
    return [*_merged(found), *_admission(parts)]


def lease_rules() -> list[Rule]:
    """The rights in the namespace of the controllers: to find out who of them leads."""
    leases = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}
    return [{**leases, "verbs": ["create"]}, {**leases, "resourceNames": [ELECTED], "verbs": ["get", "patch"]}]


def _own_kinds(parts: Collection[str]) -> list[Rule]:
    rules: list[Rule] = []
    for definition in (each for part in PARTS if part in parts or part == "core" for each in PARTS[part]):
        group, plural = [definition.kind.group], definition.kind.plural
        written = WRITTEN.get(plural, ())
        rules.append({"apiGroups": group, "resources": [plural], "verbs": [*READ, *written]})
        if "patch" not in written:
            continue
        if definition.status:
            rules.append({"apiGroups": group, "resources": [f"{plural}/status"], "verbs": ["patch"]})
        # Where owners may not be set without it: whoever is owned may keep its owner from going.
        rules.append({"apiGroups": group, "resources": [f"{plural}/finalizers"], "verbs": ["update"]})
    return rules


def _admission(parts: Collection[str]) -> list[Rule]:
    """To have the API ask for defaults and checks, and for CAPMOX's old version."""
    rules: list[Rule] = [
        {"apiGroups": [_REGISTRATION], "resources": [*_WEBHOOKS], "verbs": ["create"]},
        {
            "apiGroups": [_REGISTRATION],
            "resources": [*_WEBHOOKS],
            "resourceNames": [ADMISSION],
            "verbs": ["get", "patch", "delete"],
        },
    ]
    if "infrastructure-proxmox" in parts:
        converted = [each.kind for each in PARTS["infrastructure-proxmox"] if each.kind.kind in CONVERTED]
        names = sorted(f"{kind.plural}.{PROXMOX}" for kind in converted)
        rules.append(
            {
                "apiGroups": ["apiextensions.k8s.io"],
                "resources": [_CRDS, f"{_CRDS}/status"],
                "resourceNames": names,
                "verbs": ["patch"],
            }
        )
    return rules


def _merged(rules: Sequence[Rule]) -> list[Rule]:
    """Rules with the verbs of one resource together, those of several parts included."""
    verbs: dict[tuple[str, str, tuple[str, ...]], dict[str, None]] = {}
    for rule in rules:
        for resource in rule["resources"]:
            key = rule["apiGroups"][0], resource, tuple(rule.get("resourceNames", ()))
            verbs.setdefault(key, {}).update(dict.fromkeys(rule["verbs"]))
    together: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, names), allowed in verbs.items():
        ordered = tuple(each for each in (*ALL, "update") if each in allowed)
        together.setdefault((group, names, ordered), []).append(resource)
    return [
        {
            "apiGroups": [group],
            "resources": sorted(resources),
            **({"resourceNames": [*names]} if names else {}),
            "verbs": [*allowed],
        }
        for (group, names, allowed), resources in together.items()
    ]
