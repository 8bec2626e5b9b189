"""Options of the programs that make up a hosted control plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

from nagaya.api.bootstrap.component import Argument
from nagaya.api.model import Model, doc, rule

_QUANTITY: Final = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
"""As Kubernetes writes amounts, but not below zero, and with exponents that can be computed."""
AUDIT_POLICY_FIELDS: Final = ("omitManagedFields", "omitStages", "rules")
"""Fields of an audit policy: the file that is made of it holds nothing else."""
MOST_AUDIT_BACKUPS, MOST_AUDIT_MEGABYTES = 50, 200
"""With both, audit logs of one control plane take 10 GB of the disk that tenants share."""
POD_SECURITY_LEVELS: Final = ("privileged", "baseline", "restricted")

Quantity = Annotated[
    int | str, doc("An amount, for example 250m of CPU or 512Mi of memory.", pattern=_QUANTITY, maxLength=64, minimum=0)
]
Amounts = Mapping[str, Quantity]
NO_AMOUNTS: Final[Amounts] = {}

ExtraArguments = Annotated[
    tuple[Argument, ...],
    doc(
        "Arguments that the program is started with, beside those that Nagaya gives it; one of the same name replaces "
        "Nagaya's default. Only arguments that cannot reach files, connections or other tenants are accepted, each "
        "once and with bounds for its value: the documentation of hosted control planes lists them.",
        list_type="map",
        list_map_keys=["name", "value"],
        minItems=1,
        maxItems=100,
    ),
]
Image = Annotated[
    str,
    doc(
        "The image to run instead of the one that belongs to the version, with its tag. Only in a management cluster.",
        minLength=1,
        maxLength=512,
    ),
]


RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
"""What a program may have. Other names are those of devices of the node."""


class Resources(Model):
    """What a program gets of the machine that it runs on."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    requests: Annotated[
        Amounts,
        doc("What is kept free for it: cpu, memory. Only in a management cluster, where the scheduler reads it."),
    ] = NO_AMOUNTS
    limits: Annotated[
        Amounts,
        doc(
            "What it may use at most: cpu, memory. If left out nothing limits a pod, and three quarters of the machine "
            "limit a process that has a user of its own. At the limit of memory it is ended and started again."
        ),
    ] = NO_AMOUNTS


class HostedComponent(Model):
    """How a program is started."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    extra_args: ExtraArguments = ()
    resources: Annotated[Resources, doc("What the program gets of the machine that it runs on.")] = Resources()
    image: Image = ""


class AdmissionPlugins(Model):
    """Admission plugins of the API server."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    enable: Annotated[
        tuple[Annotated[str, doc("The name of a plugin.", minLength=1, maxLength=64)], ...],
        doc(
            "Plugins that are on beside those that Kubernetes has on by default. NodeRestriction is always on. Plugins "
            "that read a file, such as ImagePolicyWebhook, are not accepted.",
            list_type="set",
            minItems=1,
            maxItems=64,
        ),
    ] = ()
    disable: Annotated[
        tuple[Annotated[str, doc("The name of a plugin.", minLength=1, maxLength=64)], ...],
        doc(
            "Plugins that are off although Kubernetes has them on by default.",
            list_type="set",
            minItems=1,
            maxItems=64,
            rules=[
                rule(
                    "!self.exists(name, name in ['NodeRestriction', 'NamespaceLifecycle', 'ServiceAccount'])",
                    "NodeRestriction, NamespaceLifecycle and ServiceAccount must stay on: without them nodes could act "
                    "for each other, and pods would have no identity",
                )
            ],
        ),
    ] = ()


_LEVEL: Final = {"enum": list(POD_SECURITY_LEVELS)}


class PodSecurity(Model):
    """What pods may do in namespaces that do not say it by labels. The namespace kube-system is exempt."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    enforce: Annotated[str, doc("Pods beyond this level are refused. privileged if left out: none are.", **_LEVEL)] = ""
    audit: Annotated[str, doc("Pods beyond this level are noted in the audit log. baseline if left out.", **_LEVEL)] = (
        ""
    )
    warn: Annotated[str, doc("Who makes a pod beyond this level is warned. privileged if left out.", **_LEVEL)] = ""


class Audit(Model):
    """What the API server writes down of who did what."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    policy: Annotated[
        Mapping[str, Any],
        doc(
            "The audit policy: rules, omitStages and so on of audit.k8s.io/v1 Policy. If left out, who changed what is "
            "noted without content, and what components do all day is not."
        ),
    ] = {}
    max_age_days: Annotated[int | None, doc("Days after which a log is removed. 30 if left out.", minimum=1)] = None
    max_backups: Annotated[
        int | None, doc("How many old logs are kept. 10 if left out.", minimum=1, maximum=MOST_AUDIT_BACKUPS)
    ] = None
    max_size_megabytes: Annotated[
        int | None,
        doc("The size at which a new log is begun. 100 if left out.", minimum=1, maximum=MOST_AUDIT_MEGABYTES),
    ] = None


class SecretName(Model):
    """A Secret in the namespace of the control plane."""

    name: Annotated[str, doc("The name of the Secret.", minLength=1, maxLength=253)]


class Encryption(Model):
    """How the API server encrypts what it stores."""

    config_secret_ref: Annotated[
        SecretName,
        doc(
            "The Secret whose key config.yaml holds an EncryptionConfiguration of apiserver.config.k8s.io/v1. Without "
            "it data is stored as it is. A kms provider is not accepted. Keep old keys in it until everything has been "
            "written anew: what was encrypted with a key that is gone cannot be read."
        ),
    ]


class Authentication(Model):
    """Who else may prove who they are."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    jwt: Annotated[
        tuple[Mapping[str, Any], ...],
        doc(
            "Issuers whose tokens are accepted, each with issuer, claimMappings and so on as in the jwt list of an "
            "AuthenticationConfiguration of apiserver.config.k8s.io/v1. URLs must begin with https:// and must not "
            "lead to the machine itself or to a metadata service.",
            list_type="atomic",
            minItems=1,
            maxItems=64,
        ),
    ] = ()


class HostedApiServer(HostedComponent):
    """How kube-apiserver is started."""

    admission_plugins: Annotated[AdmissionPlugins, doc("Which admission plugins are on.")] = AdmissionPlugins()
    pod_security: Annotated[PodSecurity, doc("What pods may do in namespaces that do not say it by labels.")] = (
        PodSecurity()
    )
    authentication: Annotated[Authentication, doc("Who else may prove who they are.")] = Authentication()
    audit: Annotated[Audit, doc("What is written down of who did what.")] = Audit()
    encryption: Annotated[
        Encryption | None, doc("How stored data is encrypted. It is not, beyond the data store's own, if left out.")
    ] = None
