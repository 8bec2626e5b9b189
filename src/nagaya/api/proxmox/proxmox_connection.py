"""ProxmoxConnection: where a Proxmox VE is, who asks there, and what is missing for it to work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.cluster.state import Conditions, ObservedGeneration
from nagaya.api.definition import Column, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc, rule
from nagaya.api.proxmox.conditions import ProxmoxConnectionCondition
from nagaya.api.proxmox.formats import STORAGE
from nagaya.api.proxmox.group import CONNECTION_LABELS, GROUP, VERSION
from nagaya.api.proxmox.references import SecretReference
from nagaya.api.proxmox.template_source import TemplateSelector

FINALIZER: Final = "infrastructure.cluster.x-k8s.io/proxmoxconnection"
"""Keeps a connection while clusters or VMs need it to clean up."""

KEY_URL: Final = "url"
KEY_TOKEN: Final = "token"  # noqa: S105 - the name of a key, no secret
KEY_SECRET: Final = "secret"  # noqa: S105 - the name of a key, no secret
KEY_USER: Final = "user"
KEY_PASSWORD: Final = "password"  # noqa: S105 - the name of a key, no secret
KEY_INSECURE: Final = "insecure"
KEY_ROOT_CA: Final = "root_ca"
KEY_FINGERPRINT: Final = "fingerprint"


class AuthorityReference(Model):
    """A certificate authority in a Secret or ConfigMap of the same namespace."""

    kind: Annotated[str | None, doc("What it is in. A Secret if left out.", enum=["Secret", "ConfigMap"])] = None
    name: Annotated[str, doc("The name of that.", minLength=1, maxLength=253)]
    key: Annotated[str, doc("Which of its keys has the certificate, in PEM. ca.crt if left out.", maxLength=253)] = ""


class ConnectionDefaults(Model):
    """What machines get that say nothing themselves."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    storage: Annotated[str, doc("The storage for disks.", minLength=2, maxLength=100, pattern=STORAGE)] = ""
    iso_storage: Annotated[str, doc("The storage for CD images.", minLength=2, maxLength=100, pattern=STORAGE)] = ""
    bridge: Annotated[str, doc("The bridge of network devices.", minLength=1, maxLength=100)] = ""
    template_selector: Annotated[TemplateSelector | None, doc("Which template is cloned, by its tags.")] = None


class ProxmoxConnectionSpec(Model):
    """Where it is, and who asks."""

    __schema__: ClassVar[Mapping[str, object]] = {
        "rules": [
            rule(
                "[has(self.caRef), has(self.fingerprint), has(self.insecure) && self.insecure]"
                ".filter(c, c).size() <= 1",
                "give one of caRef, fingerprint and insecure: they are three answers to who may answer",
            )
        ]
    }

    endpoints: Annotated[
        tuple[
            Annotated[
                str,
                doc(
                    "The address of a host, for example https://pve1.example:8006. Scheme and port may be left out.",
                    minLength=1,
                    maxLength=512,
                ),
            ],
            ...,
        ],
        doc(
            "The hosts that are asked. If one does not answer the next is: any of them speaks for all. The url of the "
            "Secret if left out.",
            minItems=1,
            maxItems=64,
            list_type="atomic",
        ),
    ] = ()
    credentials_ref: Annotated[
        SecretReference,
        doc(
            "The Secret that says who asks: token and secret, or user and password. What CAPMOX has there is "
            "understood too: url, insecure, root_ca. A change of it takes effect at once."
        ),
    ]
    ca_ref: Annotated[
        AuthorityReference | None,
        doc("The authority of the hosts' certificates. root_ca of the Secret, or those of the system, if left out."),
    ] = None
    fingerprint: Annotated[
        str,
        doc(
            "The SHA-256 fingerprint of the hosts' certificate, in hexadecimal with colons, as Proxmox VE shows it: "
            "for a single host whose certificate nobody signed.",
            minLength=95,
            maxLength=95,
            pattern=r"^([A-Fa-f0-9]{2}:){31}[A-Fa-f0-9]{2}$",
        ),
    ] = ""
    insecure: Annotated[
        bool | None,
        doc(
            "Whether anybody may answer in place of Proxmox VE and read the credentials: certificates are not looked "
            "at. For trials only.",
        ),
    ] = None
    pool: Annotated[
        str, doc("The pool that VMs are put in, which the token's rights are for.", minLength=1, maxLength=1024)
    ] = ""
    defaults: Annotated[ConnectionDefaults | None, doc("What machines get that say nothing themselves.")] = None


class ConnectedHost(Model):
    """A host, as it was when last asked."""

    name: Annotated[str, doc("Its name.", minLength=1, maxLength=63)]
    online: Annotated[bool | None, doc("Whether it is up and in the cluster.")] = None
    maintenance: Annotated[bool | None, doc("Whether the HA manager keeps it free of VMs.")] = None
    cpus: Annotated[int | None, doc("How many processors it has.", minimum=0)] = None
    memory_mib: Annotated[int | None, doc("How much memory it has, in MiB.", format="int64", minimum=0)] = (
        msgspec.field(default=None, name="memoryMiB")
    )
    version: Annotated[str, doc("Its version of Proxmox VE.", maxLength=64)] = ""


class MissingPrivilege(Model):
    """Something that the token may not do and must."""

    path: Annotated[str, doc("Where it is missing, for example /storage/local.", minLength=1, maxLength=1024)]
    privilege: Annotated[str, doc("What is missing, for example Datastore.AllocateSpace.", minLength=1, maxLength=64)]
    command: Annotated[str, doc("What grants it, run on any host.", maxLength=4096)] = ""


class ProxmoxConnectionStatus(Model):
    """What is known of the Proxmox VE."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        doc("What holds of the connection: Ready, CredentialsAccepted, PrivilegesComplete, Quorate."),
    ] = ()
    datacenter: Annotated[
        str,
        doc(
            "Which Proxmox VE it is, whatever address it is reached at. It is part of the names of reservations.",
            maxLength=63,
        ),
    ] = ""
    version: Annotated[str, doc("The version of Proxmox VE.", maxLength=64)] = ""
    quorate: Annotated[bool | None, doc("Whether enough hosts are up for anything to be changed.")] = None
    hosts: Annotated[
        tuple[ConnectedHost, ...],
        doc("The hosts, as they were when last asked.", maxItems=128, list_type="map", list_map_keys=["name"]),
    ] = ()
    missing_privileges: Annotated[
        tuple[MissingPrivilege, ...],
        doc(
            "What the token may not do and must, each with the command that grants it.",
            maxItems=256,
            list_type="map",
            list_map_keys=["path", "privilege"],
        ),
    ] = ()
    observed_generation: ObservedGeneration = None


class ProxmoxConnection(Resource):
    """Where a Proxmox VE is and who asks there; its conditions say what is missing for it to work."""

    spec: Annotated[ProxmoxConnectionSpec, doc("Where it is, and who asks.")]
    status: Annotated[ProxmoxConnectionStatus, doc("What is known of it.")] = ProxmoxConnectionStatus()


PROXMOX_CONNECTIONS: Final = Kind(GROUP, VERSION, "ProxmoxConnection", "proxmoxconnections", ProxmoxConnection)
DEFINITION: Final = Definition(
    PROXMOX_CONNECTIONS,
    short_names=("moxc",),
    categories=("cluster-api", "proxmox"),
    columns=(
        condition(str(ProxmoxConnectionCondition.READY), description="Whether machines can be made there."),
        Column("Version", ".status.version", description="The version of Proxmox VE."),
        Column("Datacenter", ".status.datacenter", description="Which Proxmox VE it is."),
        condition(
            str(ProxmoxConnectionCondition.CREDENTIALS_ACCEPTED),
            "Credentials",
            priority=10,
            description="Whether the credentials are accepted.",
        ),
        condition(
            str(ProxmoxConnectionCondition.PRIVILEGES_COMPLETE),
            "Privileges",
            priority=10,
            description="Whether the token may do all that is needed.",
        ),
        condition(
            str(ProxmoxConnectionCondition.QUORATE),
            priority=10,
            description="Whether enough hosts are up for anything to be changed.",
        ),
        age("ProxmoxConnection"),
    ),
    labels=CONNECTION_LABELS,
)
