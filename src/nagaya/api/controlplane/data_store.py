"""DataStore: where hosted control planes keep their data, each apart from the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.controlplane.data_store_conditions import DataStoreCondition
from nagaya.api.controlplane.hosted_group import GROUP, IDENTITY, PROVIDER_LABELS, VERSION
from nagaya.api.definition import Column, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc, rule

FINALIZER: Final = "controlplane.cluster.x-k8s.io/datastore"
"""Keeps a DataStore for as long as a control plane has its data there."""

ETCD: Final = "etcd"
SQLITE: Final = "SQLite"
POSTGRESQL: Final = "PostgreSQL"
DRIVERS: Final = (ETCD, SQLITE, POSTGRESQL)


class SecretKeyReference(Model):
    """A value in a Secret."""

    namespace: Annotated[str, doc("The namespace of the Secret.", minLength=1, maxLength=63)]
    name: Annotated[str, doc("The name of the Secret.", minLength=1, maxLength=253)]
    key: Annotated[str, doc("Which of its keys has the value, for example tls.crt.", minLength=1, maxLength=253)]


class StoreAuthority(Model):
    """The certificate authority of the store."""

    certificate: Annotated[
        SecretKeyReference, doc("Its certificate, in PEM: what the store's own certificate is verified with.")
    ]
    private_key: Annotated[
        SecretKeyReference | None,
        doc(
            "Its key, in PEM. etcd needs it: every control plane gets a client certificate of its own, by which etcd "
            "knows what it may read. It never leaves the management cluster."
        ),
    ] = None


class StoreClient(Model):
    """A certificate that Nagaya shows to the store."""

    certificate: Annotated[SecretKeyReference, doc("The certificate, in PEM.")]
    private_key: Annotated[SecretKeyReference, doc("Its key, in PEM.")]


class StoreTls(Model):
    """How the connection to the store is secured."""

    certificate_authority: Annotated[StoreAuthority, doc("The certificate authority of the store.")]
    client_certificate: Annotated[
        StoreClient | None,
        doc("What Nagaya proves with that it may administer the store. With etcd, its common name is a root user."),
    ] = None


class BasicAuth(Model):
    """A user of the store and the password."""

    username: Annotated[SecretKeyReference, doc("The name of the user.")]
    password: Annotated[SecretKeyReference, doc("The password.")]


class DataStoreSpec(Model):
    """What the store is, and how it is reached."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule(
                "(has(self.managed) && self.managed) == (has(oldSelf.managed) && oldSelf.managed)",
                "managed cannot be changed: data does not move between stores by itself",
            ),
            rule(
                "self.driver != 'SQLite' || !has(self.endpoints) && !has(self.tls) && !has(self.basicAuth)",
                "SQLite keeps files beside Nagaya: it has no endpoints, tls or basicAuth",
            ),
            rule(
                "!(has(self.managed) && self.managed) || self.driver != 'PostgreSQL'",
                "Nagaya does not start PostgreSQL itself: leave managed out and give its endpoints",
            ),
            rule(
                "!(has(self.managed) && self.managed) || "
                "!has(self.endpoints) && !has(self.tls) && !has(self.basicAuth)",
                "a managed store has the endpoints and certificates that Nagaya gives it: leave them out",
            ),
            rule(
                "self.driver == 'SQLite' || has(self.managed) && self.managed || has(self.endpoints)",
                "endpoints are needed for a store that Nagaya does not start itself",
            ),
            rule(
                "self.driver != 'etcd' || has(self.managed) && self.managed || has(self.tls) && "
                "has(self.tls.certificateAuthority.privateKey) && has(self.tls.clientCertificate)",
                "etcd needs tls with the key of its certificate authority and a client certificate: without them "
                "control planes could read each other's data",
            ),
            rule(
                "self.driver != 'PostgreSQL' || has(self.basicAuth) || "
                "has(self.tls) && has(self.tls.clientCertificate)",
                "PostgreSQL needs basicAuth or a client certificate of a user that may create databases and roles",
            ),
            rule(
                "has(self.storeID) == has(oldSelf.storeID) && (!has(self.storeID) || self.storeID == oldSelf.storeID)",
                "storeID cannot be added, changed or removed: the files and the process are known by it",
            ),
            rule(
                "!has(self.storeID) || self.driver == 'SQLite' || has(self.managed) && self.managed",
                "storeID is for stores that Nagaya keeps itself: those with endpoints are known by them",
            ),
        ]
    }

    driver: Annotated[
        str,
        doc(
            "What the store is. etcd is what Kubernetes is made for and is shared by prefixes that each control "
            "plane's certificate is bound to; SQLite is a file for each control plane, beside Nagaya, for small ones; "
            "PostgreSQL has a database and a user for each. The latter two are spoken to through kine.",
            enum=list(DRIVERS),
            rules=[rule("self == oldSelf", "cannot be changed: data does not move between stores by itself")],
        ),
    ]
    managed: Annotated[
        bool | None,
        doc(
            "Whether Nagaya starts the store itself, as a process beside it. Then it needs no endpoints and no "
            "certificates. It does not if left out. It cannot change.",
        ),
    ] = None
    endpoints: Annotated[
        tuple[Annotated[str, doc("Host and port, for example etcd-0.example:2379.", minLength=3, maxLength=262)], ...],
        doc(
            "Where the store is reached, host:port each. With PostgreSQL only the first is used.",
            list_type="atomic",
            minItems=1,
            maxItems=16,
        ),
    ] = ()
    tls: Annotated[StoreTls | None, doc("How the connection to the store is secured.")] = None
    basic_auth: Annotated[
        BasicAuth | None, doc("A user of the store that may create users and databases, by password.")
    ] = None
    store_id: Annotated[
        str,
        doc(
            "By what the files and the process of a store that Nagaya keeps itself are known, if it began under "
            "another management API: the uid that the DataStore had there. `nagaya move` writes it; leave it out. "
            "Whoever claims what belongs to another gets nothing of it. It cannot change.",
            **IDENTITY,
        ),
    ] = msgspec.field(default="", name="storeID")


class DataStoreUsage(Model):
    """How full the store is."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    keys: Annotated[int | None, doc("How many keys it has.", format="int64")] = None
    bytes: Annotated[int | None, doc("How much space they take.", format="int64")] = None
    quota_bytes: Annotated[
        int | None, doc("How much space there is at most, if the store says so.", format="int64")
    ] = None


class DataStoreStatus(Model):
    """How the store is."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[Conditions, doc("What holds of the store: Ready, Deleting, Paused.")] = ()
    ready: Annotated[bool | None, doc("Whether the store was reached and answered as it should, when last asked.")] = (
        None
    )
    version: Annotated[str, doc("The version that the store says it has.", maxLength=256)] = ""
    used_by: Annotated[
        tuple[str, ...],
        doc(
            "The control planes that have data there, as namespace/name. The store stays as long as there are any.",
            list_type="set",
            maxItems=10000,
        ),
    ] = ()
    usage: Annotated[DataStoreUsage, doc("How full the store is, if it says so.")] = DataStoreUsage()
    observed_generation: ObservedGeneration = None


class DataStore(Resource):
    """A store in which hosted control planes keep their data, each apart from the others."""

    spec: Annotated[DataStoreSpec, doc("What the store is, and how it is reached.")]
    status: Annotated[DataStoreStatus, doc("How the store is.")] = DataStoreStatus()

    @property
    def store_id(self) -> str:
        """By what its files and its process are known: it outlives a move, and the uid does not."""
        return self.spec.store_id or self.metadata.uid

    @property
    def is_kept_here(self) -> bool:
        """Whether its data is in files beside Nagaya, and not behind endpoints."""
        return self.spec.driver == SQLITE or self.spec.managed is True


DATA_STORES: Final = Kind(GROUP, VERSION, "DataStore", "datastores", DataStore, namespaced=False)
DEFINITION: Final = Definition(
    DATA_STORES,
    columns=(
        Column("Driver", ".spec.driver", description="What the store is."),
        condition(str(DataStoreCondition.READY), description="Whether the store answers."),
        Column("Version", ".status.version", description="The version that the store says it has."),
        Column("Managed", ".spec.managed", "boolean", priority=10, description="Whether Nagaya starts it itself."),
        Column("Used by", ".status.usedBy", priority=10, description="The control planes that have data there."),
        age("DataStore"),
    ),
    labels=PROVIDER_LABELS,
)
