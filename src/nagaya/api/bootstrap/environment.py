"""Environment variables of control plane components, in the form that pods have them.

kubeadm copies them into the manifests of static pods as they are, so nothing here is read by Nagaya itself; the types
exist so that what a user writes is checked, explained and handed on complete.
"""

from __future__ import annotations

from typing import Annotated

from nagaya.api.model import Model, doc

QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)


class ConfigMapKeySelector(Model):
    """One entry of a ConfigMap."""

    key: Annotated[str, doc("The entry of the ConfigMap whose content becomes the value.")]
    name: Annotated[str, doc("Name of the ConfigMap, in the namespace of the pod.", default="")] = ""
    optional: Annotated[
        bool | None, doc("If true, the pod starts even when the ConfigMap or the entry does not exist.")
    ] = None


class SecretKeySelector(Model):
    """One entry of a Secret."""

    key: Annotated[str, doc("The entry of the Secret whose content becomes the value.")]
    name: Annotated[str, doc("Name of the Secret, in the namespace of the pod.", default="")] = ""
    optional: Annotated[
        bool | None, doc("If true, the pod starts even when the Secret or the entry does not exist.")
    ] = None


class ObjectFieldSelector(Model):
    """One field of the pod itself."""

    api_version: Annotated[str, doc("The API version that fieldPath is written for. v1 if left out.")] = ""
    field_path: Annotated[str, doc("Path of the field in the pod, such as status.podIP.")]


class FileKeySelector(Model):
    """One variable of a file on a volume."""

    key: Annotated[str, doc("The variable in the file, which has lines of the form NAME=VALUE.")]
    path: Annotated[str, doc("Where the file is, relative to the root of the volume. Must not contain '..'.")]
    volume_name: Annotated[str, doc("Name of the volume of the pod that the file is on.")]
    optional: Annotated[
        bool, doc("If true, the pod starts even when the file or the variable does not exist.", default=False)
    ] = False


class ResourceFieldSelector(Model):
    """A limit or request of a container."""

    container_name: Annotated[str, doc("The container to look at. If left out, the one that gets the variable.")] = ""
    divisor: Annotated[
        int | str | None,
        doc("The unit that the value is given in, such as 1Mi. 1 if left out.", int_or_string=True, pattern=QUANTITY),
    ] = None
    resource: Annotated[str, doc("The limit or request to read, such as limits.cpu.")]


class EnvVarSource(Model):
    """Where a value comes from. Exactly one of the fields is set."""

    config_map_key_ref: Annotated[
        ConfigMapKeySelector | None, doc("Take the value from a ConfigMap.", map_type="atomic")
    ] = None
    field_ref: Annotated[
        ObjectFieldSelector | None, doc("Take the value from a field of the pod.", map_type="atomic")
    ] = None
    file_key_ref: Annotated[
        FileKeySelector | None, doc("Take the value from a file on a volume of the pod.", map_type="atomic")
    ] = None
    resource_field_ref: Annotated[
        ResourceFieldSelector | None,
        doc("Take the value from the limits or requests of a container.", map_type="atomic"),
    ] = None
    secret_key_ref: Annotated[SecretKeySelector | None, doc("Take the value from a Secret.", map_type="atomic")] = None


class EnvVar(Model):
    """A variable that a component is started with."""

    name: Annotated[str, doc("Name of the variable, such as HTTPS_PROXY.")]
    value: Annotated[
        str, doc("Its value; $(OTHER) is replaced by the value of another variable. Excludes valueFrom.")
    ] = ""
    value_from: Annotated[EnvVarSource | None, doc("Where the value comes from, instead of value.")] = None
