"""Every field of every kind by which an object refers to something: none leads to another tenant's.

The table of docs/threat-model.md says the same in words. A field that is new and looks like a reference fails here
until it is known where it may lead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.catalog import PARTS
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.conversion.convert import convert
from nagaya.api.crd import render
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_connection import PROXMOX_CONNECTIONS
from nagaya.clusters.owners import is_a
from nagaya.infrastructure.proxmox.connection.reference import NoConnection, reference_among
from nagaya.infrastructure.proxmox.connection.source import source_by

OWN: Final = "own namespace"
"""The name of an object in the namespace of the object that refers to it: there is no field for another one."""
GRANTED: Final = "granted"
"""Another namespace, if the Secret there allows it."""
ADMINISTRATOR: Final = "administrator"
"""A field of a cluster-scoped kind, which tenants do not write."""
SHARED: Final = "shared"
"""A cluster-scoped object, which the administrator made for all namespaces."""
ADDRESS: Final = "address"
"""An address, that the address policy checks when it is connected."""
NOWHERE: Final = "nowhere"
"""Nagaya follows it nowhere: it is copied to machines, or is of a kind without a controller here."""

REFERENCES: Final[Mapping[str, str]] = {
    r"ProxmoxConnection\.spec\.credentialsRef": GRANTED,
    r"ProxmoxCluster(Template)?\.spec(\.template\.spec)?\.credentialsRef": GRANTED,
    r"ProxmoxConnection\.spec\.caRef": OWN,
    r"ProxmoxConnection\.spec\.endpoints": ADDRESS,
    r"ProxmoxCluster(Template)?\.spec(\.template\.spec)?\.connectionRef": OWN,
    r"ProxmoxCluster(Template)?\.spec(\.template\.spec)?\.controlPlaneEndpointPoolRef": OWN,
    r"Proxmox\w+\.spec(\.template\.spec)?(\.machineSpec\[\])?\.network\.networkDevices\[\]\.ipPoolRef(\[\])?": OWN,
    r"\w+\.spec.*\.controlPlaneEndpoint(\.host)?": ADDRESS,
    r"Cluster\.spec\.(infrastructureRef|controlPlaneRef)": OWN,
    r"Cluster\.spec\.topology\..*": NOWHERE,
    r"ClusterClass\.spec\..*": NOWHERE,
    r"Machine\w*\.spec(\.template\.spec)?\.(bootstrap\.configRef|infrastructureRef|bootstrap\.dataSecretName)": OWN,
    r"KubeadmControlPlane(Template)?\.spec(\.template\.spec)?\.machineTemplate\.spec\.infrastructureRef": OWN,
    r"\w+\.spec(\.template\.spec)?(\.machineSpec\[\])?\.providerID": OWN,
    r"MachineHealthCheck\.spec\.remediation\.templateRef": OWN,
    r"ClusterResourceSet(Binding)?\.spec\.(bindings\[\]\.)?resources(\[\])?(\.resources\[\])?": OWN,
    r"ClusterResourceSetBinding\.spec\.bindings\[\]\.clusterResourceSetName": OWN,
    r"IPAddress(Claim)?\.spec\.(poolRef|claimRef)": OWN,
    r"Kubeadm\w+\.spec.*\.(files|users)\[\]\.(contentFrom|passwdFrom)(\.secret)?": OWN,
    r"Kubeadm\w+\.spec.*\.(extraEnvs\[\]\.valueFrom(\.\w+)?|discovery\..*|etcd\.external\.endpoints)": NOWHERE,
    r"HostedControlPlane(Template)?\.spec(\.template\.spec)?\.apiServer\.encryption\.configSecretRef": OWN,
    r"HostedControlPlane(Template)?\.spec(\.template\.spec)?\.dataStoreRef": SHARED,
    r"(DataStore|ExtensionConfig|IPAddressReservation|ProxmoxVirtualMachine)\.spec\..*": ADMINISTRATOR,
}
_NAMED: Final = re.compile(
    r"(Ref|Refs|Reference|From|SecretName|ResourceSetName|providerID|kubeConfig|kubeconfig|namespace|endpoints?|Endpoint"
    r"|apiServerEndpoint|server|proxyURL|url|resources)$"
)
_PLAIN: Final = re.compile(r"(localAPIEndpoint|konnectivity\.server|\.resources|routingPolicy\[\]\.from)$")
"""Fields that are called like references and are none: what a machine listens on, quantities, policies of routes."""


class Field(NamedTuple):
    kind: str
    namespaced: bool
    path: str
    properties: frozenset[str]


def fields() -> Iterator[Field]:
    """All fields below spec of all kinds, in the version that is stored."""
    for part in PARTS.values():
        for definition in part:
            spec = render(definition)["spec"]
            version = next(each for each in spec["versions"] if each["storage"])
            schema = version["schema"]["openAPIV3Schema"]["properties"].get("spec", {})
            for path, properties in _below(schema, f"{spec['names']['kind']}.spec"):
                yield Field(spec["names"]["kind"], spec["scope"] == "Namespaced", path, frozenset(properties))


def _below(schema: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, schema.get("properties", {})
    for name, inner in schema.get("properties", {}).items():
        yield from _below(inner, f"{path}.{name}")
    for key, sign in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(key), dict):
            yield from _below(schema[key], f"{path}{sign}")


def refers(field: Field) -> bool:
    """Whether a field looks like a reference."""
    last = field.path.rpartition(".")[2]
    if last == "resources" or _PLAIN.search(field.path):
        return "ClusterResourceSet" in field.path
    shape = "name" in field.properties and bool(field.properties & {"kind", "key", "namespace", "apiGroup"})
    return bool(_NAMED.search(last)) or shape


ALL: Final = [each for each in fields() if refers(each)]


def leads(field: Field) -> str:
    return next((where for pattern, where in REFERENCES.items() if re.fullmatch(pattern, field.path)), "")


def test_every_field_that_looks_like_a_reference_is_in_the_list() -> None:
    # What is below a reference that is listed belongs to it.
    known = [each.path for each in ALL if leads(each)]
    unknown = [
        each.path for each in ALL if not leads(each) and not any(each.path.startswith(f"{one}.") for one in known)
    ]
    assert unknown == [], "say in REFERENCES and in docs/threat-model.md where these may lead, and what stops them"
    assert len(ALL) > 200


@pytest.mark.parametrize("pattern", REFERENCES)
def test_a_reference_has_a_namespace_only_where_one_may_be_named(pattern: str) -> None:
    found = [each for each in ALL if re.fullmatch(pattern, each.path)]
    assert found, "no kind has such a field any more: remove it from the list"
    where = REFERENCES[pattern]
    for each in found:
        assert each.namespaced is (where != ADMINISTRATOR), each.path
        if where in (OWN, SHARED):
            assert "namespace" not in each.properties, each.path
        if where == GRANTED:
            assert {"name", "namespace"} <= each.properties


def _of_cluster(namespace: str, **spec: Any) -> str:
    made = PROXMOX_CLUSTERS.convert({"metadata": {"name": "shop", "namespace": namespace}, "spec": spec})
    return reference_among(["pve"], made).key.namespace


def _connection_elsewhere() -> str:
    try:
        return _of_cluster("mine", connectionRef={"name": "../../theirs/proxmoxconnections/pve"})
    except NoConnection:
        return "mine"


def _authority() -> str:
    spec = {"credentialsRef": {"name": "x"}, "caRef": {"name": "../../theirs/secrets/x"}}
    made = PROXMOX_CONNECTIONS.convert({"metadata": {"name": "c", "namespace": "mine"}, "spec": spec})
    return source_by(made).secret.namespace


def _path(namespace: str, name: str) -> str:
    parts = KUBEADM_CONFIGS.path(namespace, name).split("/")
    return parts[parts.index("namespaces") + 1] if ".." not in parts and len(parts) == 8 else "theirs"


def _v1beta1() -> str:
    reference = {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "X", "name": "x", "namespace": "theirs"}
    old = {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "Cluster",
        "metadata": {"name": "c", "namespace": "mine"},
        "spec": {"controlPlaneRef": reference},
    }
    made = convert([old]).objects
    return "theirs" if "theirs" in str(made) else "mine"


LEADING: Final[Mapping[str, Callable[[], str]]] = {
    "a connection by its name": lambda: _of_cluster("mine", connectionRef={"name": "pve"}),
    "a connection by a path": _connection_elsewhere,
    "the only connection": lambda: _of_cluster("mine"),
    "a Secret without a namespace": lambda: _of_cluster("mine", credentialsRef={"name": "pve"}),
    "the Secret of a connection": _authority,
    "a name that is a path": lambda: _path("mine", "../../theirs/kubeadmconfigs/x"),
    "a name that goes up": lambda: _path("mine", ".."),
    "a reference of v1beta1": _v1beta1,
}


@pytest.mark.parametrize("reference", LEADING)
def test_a_reference_stays_in_its_namespace(reference: str) -> None:
    assert LEADING[reference]() == "mine"


def test_an_owner_of_another_group_is_none() -> None:
    owner = CLUSTERS.convert(
        {
            "metadata": {
                "name": "x",
                "ownerReferences": [
                    {"apiVersion": "evil.example/v1", "kind": "Cluster", "name": "shop", "uid": "1"},
                    {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "shop", "uid": "1"},
                ],
            }
        }
    )
    assert [is_a(each, CLUSTERS) for each in owner.metadata.owner_references] == [False, True]
