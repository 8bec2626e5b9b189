"""What is known of a hosted control plane."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.cluster.status_version import Versions
from nagaya.api.model import Model, doc

RUNNING: Final = "Running"
STARTING: Final = "Starting"
RESTARTING: Final = "Restarting"
STOPPED: Final = "Stopped"
NOT_HEALTHY: Final = "NotHealthy"
COMPONENT_STATES: Final = (RUNNING, STARTING, RESTARTING, STOPPED, NOT_HEALTHY)


class HostedInitialization(Model):
    """What is done only once."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    control_plane_initialized: Annotated[
        bool | None, doc("True once the API of the cluster answered. Workers are not made before. It stays true.")
    ] = None


class CertificateStatus(Model):
    """A certificate of the control plane."""

    name: Annotated[str, doc("Which one, as kubeadm calls its file: apiserver, front-proxy-client.", maxLength=63)]
    not_after: Annotated[datetime, doc("When it ends. It is renewed before.")]
    serial_number: Annotated[str, doc("Its serial number, hexadecimal: another one after a renewal.", maxLength=64)] = (
        ""
    )


class DataStoreUse(Model):
    """Where the data of the control plane is."""

    name: Annotated[str, doc("The DataStore.", minLength=1, maxLength=253)]
    driver: Annotated[str, doc("How it is spoken to: etcd, SQLite or PostgreSQL.", maxLength=32)] = ""
    prefix: Annotated[
        str, doc("With etcd: what all keys of this control plane begin with, and no key of another.", maxLength=256)
    ] = ""
    schema: Annotated[str, doc("With SQL: the database of this control plane.", maxLength=63)] = ""
    keys: Annotated[int | None, doc("How many keys it has there, when last counted.", format="int64")] = None
    bytes: Annotated[int | None, doc("How much space it takes there, when last counted.", format="int64")] = None


class ComponentStatus(Model):
    """A program of the control plane, all replicas taken together."""

    name: Annotated[str, doc("The program: kube-apiserver, kube-controller-manager.", minLength=1, maxLength=63)]
    state: Annotated[
        str,
        doc(
            "How the worst replica is: Running, Starting, NotHealthy (it runs and does not answer as it should), "
            "Restarting (it ended and is started again after a pause), or Stopped.",
            enum=list(COMPONENT_STATES),
        ),
    ]
    version: Annotated[str, doc("The lowest version that a replica runs.", maxLength=256)] = ""
    replicas: Annotated[int | None, doc("How many replicas there are.")] = None
    ready_replicas: Annotated[int | None, doc("How many of them are ready.")] = None
    restarts: Annotated[int | None, doc("How often replicas ended and were started again.")] = None
    message: Annotated[str, doc("What is wrong, with the last words of its log.", maxLength=4096)] = ""


class PhaseStatus(Model):
    """A phase of the start, or of an upgrade: when it began, when it ended, and what it waits for."""

    phase: Annotated[
        str,
        doc("Which one: Certificates, DataStore, Endpoint, APIServer, Controllers, Tenant or Upgrade.", maxLength=63),
    ]
    began: Annotated[datetime, doc("When it began.")]
    ended: Annotated[datetime | None, doc("When it ended. It goes on if left out.")] = None
    message: Annotated[str, doc("What it waits for, or what came of it.", maxLength=1024)] = ""


class HostedControlPlaneStatus(Model):
    """How the control plane is."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Conditions = ()
    initialization: Annotated[
        HostedInitialization, doc("What is done once in the life of the object; part of the contract.")
    ] = HostedInitialization()
    external_managed_control_plane: Annotated[
        bool | None, doc("Always true: there are no Machines for the control plane. Part of the contract.")
    ] = None
    endpoint: Annotated[Endpoint, doc("Where the API is reached.")] = Endpoint()
    selector: Annotated[
        str, doc("Which pods belong to it, as a label selector; for the scale subresource.", maxLength=4096)
    ] = ""
    replicas: Annotated[int | None, doc("How many API servers there are.")] = None
    ready_replicas: Annotated[int | None, doc("How many of them are ready.")] = None
    available_replicas: Annotated[int | None, doc("How many of them serve requests.")] = None
    up_to_date_replicas: Annotated[int | None, doc("How many of them are as declared.")] = None
    version: Annotated[
        str, doc("The lowest Kubernetes version that a component runs: what kubelets must not exceed.", maxLength=256)
    ] = ""
    versions: Annotated[
        Versions, doc("The Kubernetes versions that API servers run now. More than one during an upgrade.")
    ] = ()
    data_store: Annotated[DataStoreUse | None, doc("Where the data is.")] = None
    certificates: Annotated[
        tuple[CertificateStatus, ...],
        doc("The certificates in use, and when they end.", list_type="map", list_map_keys=["name"], maxItems=32),
    ] = ()
    components: Annotated[
        tuple[ComponentStatus, ...],
        doc("The programs that run, and how they are.", list_type="map", list_map_keys=["name"], maxItems=16),
    ] = ()
    timeline: Annotated[
        tuple[PhaseStatus, ...],
        doc(
            "How the start went, and the last upgrade: which phase took how long, and what waits for what.",
            list_type="map",
            list_map_keys=["phase"],
            maxItems=16,
        ),
    ] = ()
    observed_generation: ObservedGeneration = None
