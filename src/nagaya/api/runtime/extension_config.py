"""ExtensionConfig: where a runtime extension is, and which of its hooks are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.cluster.state import Conditions
from nagaya.api.cluster.v1beta1 import DEPRECATED, DeprecatedStatus
from nagaya.api.definition import PAUSED_COLUMN, Definition, age, condition
from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc

INJECT_CA_FROM_SECRET: Final = "runtime.cluster.x-k8s.io/inject-ca-from-secret"  # noqa: S105 - an annotation
"""On an ExtensionConfig: fill in `caBundle` from the entry ca.crt of this Secret, as <namespace>/<name>."""

PENDING_HOOKS: Final = "runtime.cluster.x-k8s.io/pending-hooks"
"""On a Cluster: hooks that are to be called when what goes on has finished, joined by commas."""

OK_TO_DELETE: Final = "runtime.cluster.x-k8s.io/ok-to-delete"
"""On a Cluster: the hook BeforeClusterDelete let the deletion pass."""

IGNORE: Final = "Ignore"
FAIL: Final = "Fail"

# Conditions

DISCOVERED: Final = "Discovered"
"""The extension was asked which hooks it serves, and answered."""

# Reasons of Discovered

DISCOVERED_REASON: Final = "Discovered"
NOT_DISCOVERED: Final = "NotDiscovered"


class ServiceReference(Model):
    """A Service of the management cluster."""

    namespace: Annotated[str, doc("Namespace of the Service.", minLength=1, maxLength=63)]
    name: Annotated[str, doc("Name of the Service.", minLength=1, maxLength=63)]
    path: Annotated[
        str, doc("Path that those of the hooks are appended to. None if left out.", minLength=1, maxLength=512)
    ] = ""
    port: Annotated[int | None, doc("Port of the Service, 1 to 65535. 443 if left out.")] = None


class ClientConfig(Model):
    """How the extension is reached: by `url` or by `service`."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    url: Annotated[
        str,
        doc(
            "Address of the extension, as https://host:port/path; no user, query or fragment. A path is put before "
            "those of the hooks. Excludes service.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    service: Annotated[
        ServiceReference | None, doc("Service in front of the extension, if it runs in this cluster. Excludes url.")
    ] = None
    ca_bundle: Annotated[
        str,
        doc(
            "Authorities that the extension's certificate must be from, PEM in base64.",
            format="byte",
            minLength=1,
            maxLength=51200,
        ),
    ] = ""


class ExtensionConfigSpec(Model):
    """Where the extension is and for whom it is asked."""

    client_config: Annotated[ClientConfig, doc("How the extension is reached.")]
    namespace_selector: Annotated[
        LabelSelector | None,
        doc("The extension is asked for objects in namespaces with these labels. In all namespaces if left out."),
    ] = None
    settings: Annotated[
        Mapping[str, str],
        doc("Handed to the extension with every call. A ClusterClass can give others."),
    ] = NONE


class GroupVersionHook(Model):
    """A hook at one version."""

    api_version: Annotated[
        str,
        doc(
            "Group and version of the hook, such as hooks.runtime.cluster.x-k8s.io/v1alpha1.",
            minLength=1,
            maxLength=512,
        ),
    ]
    hook: Annotated[str, doc("Name of the hook, such as BeforeClusterCreate.", minLength=1, maxLength=256)]


class ExtensionHandler(Model):
    """A hook that the extension serves."""

    name: Annotated[str, doc("Name of the handler, followed by that of the extension.", minLength=1, maxLength=512)]
    request_hook: Annotated[GroupVersionHook, doc("The hook that it serves.")]
    timeout_seconds: Annotated[int, doc("How long to wait for its answer. 10 s if left out.", minimum=1)] = 0
    failure_policy: Annotated[
        str,
        doc(
            "What a call that fails means: Fail stops what goes on, Ignore lets it continue. Fail if left out.",
            enum=[IGNORE, FAIL],
        ),
    ] = ""


class ExtensionConfigStatus(Model):
    """What the extension serves."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    conditions: Conditions = ()
    handlers: Annotated[
        tuple[ExtensionHandler, ...],
        doc("The hooks that the extension said it serves.", list_type="map", list_map_keys=["name"], maxItems=512),
    ] = ()
    deprecated: Annotated[DeprecatedStatus, DEPRECATED] = DeprecatedStatus()


class ExtensionConfig(Resource):
    """A runtime extension: a server that is asked at certain points in the life of clusters."""

    spec: Annotated[ExtensionConfigSpec, doc("Where the extension is and for whom it is asked.")]
    status: Annotated[ExtensionConfigStatus, doc("What the extension serves.")] = ExtensionConfigStatus()


EXTENSION_CONFIGS: Final = Kind(
    "runtime.cluster.x-k8s.io",
    "v1beta2",
    "ExtensionConfig",
    "extensionconfigs",
    ExtensionConfig,
    namespaced=False,
)
DEFINITION: Final = Definition(
    EXTENSION_CONFIGS,
    short_names=("ext",),
    columns=(
        PAUSED_COLUMN,
        condition(DISCOVERED, description="Whether the extension answered what it serves."),
        age("ExtensionConfig"),
    ),
)
