"""What a provider's object tells: accessors for the fields that the contract names.

A field that is absent reads as its empty value, since absence only ever means "not yet". A field of the wrong type is
the provider's mistake; it raises Broken, which names the object and the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from nagaya.api.cluster.cluster_network import Endpoint
from nagaya.api.cluster.cluster_status import FailureDomainStatus
from nagaya.api.cluster.machine_status import MachineAddress
from nagaya.api.meta import ObjectMeta
from nagaya.api.untyped import Untyped

V = TypeVar("V")


class Broken(ValueError):
    """A provider's object does not look as the contract demands."""


class Provider:
    """An object of a provider, and the contract that its kind fulfils."""

    __slots__ = ("contract", "object")

    def __init__(self, obj: Untyped, contract: str) -> None:
        self.object = obj
        self.contract = contract

    @property
    def metadata(self) -> ObjectMeta:
        """Name, owners and so on."""
        return self.object.metadata

    @property
    def title(self) -> str:
        """How messages name the object."""
        return f"{self.object.kind} {self.metadata.name}"

    def read(self, kind: type[V], default: V, *path: str) -> V:
        """The value at a path, or the default if it is absent. Raises Broken."""
        value = self.optional(kind, *path)
        return default if value is None else value

    def optional(self, kind: type[V], *path: str) -> V | None:
        """The value at a path, None if it is absent. Raises Broken."""
        value = self.object.at(*path)
        if value is None:
            return None
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise Broken(f"{self.title}: .{'.'.join(path)}: {error}") from None

    def _said(self, before: tuple[str, ...], now: tuple[str, ...]) -> bool:
        return self.read(bool, False, *(before if self.contract == "v1beta1" else now))


class InfrastructureCluster(Provider):
    """What machines of a cluster stand on."""

    __slots__ = ()

    @property
    def provisioned(self) -> bool:
        """Whether it is complete, for the first time."""
        return self._said(("status", "ready"), ("status", "initialization", "provisioned"))

    @property
    def control_plane_endpoint(self) -> Endpoint:
        """Where the tenant's API is, if the infrastructure decides that."""
        return self.read(Endpoint, Endpoint(), "spec", "controlPlaneEndpoint")

    @property
    def failure_domains(self) -> tuple[FailureDomainStatus, ...]:
        """Where machines may be put, by name."""
        if self.contract == "v1beta1":
            named = self.read(dict[str, dict[str, Any]], {}, "status", "failureDomains")
            domains = [msgspec.convert({"name": name, **each}, FailureDomainStatus) for name, each in named.items()]
        else:
            domains = list(self.read(tuple[FailureDomainStatus, ...], (), "status", "failureDomains"))
        told = (each if each.control_plane is not None else _not_for_control_planes(each) for each in domains)
        return tuple(sorted(told, key=lambda each: each.name))


def _not_for_control_planes(domain: FailureDomainStatus) -> FailureDomainStatus:
    return msgspec.structs.replace(domain, control_plane=False)


class InfrastructureMachine(Provider):
    """The host of a Machine."""

    __slots__ = ()

    @property
    def provisioned(self) -> bool:
        """Whether the host is made, for the first time."""
        return self._said(("status", "ready"), ("status", "initialization", "provisioned"))

    @property
    def provider_id(self) -> str:
        """The name that the host's Node will have too."""
        return self.read(str, "", "spec", "providerID")

    @property
    def addresses(self) -> tuple[MachineAddress, ...]:
        """How the host is reached."""
        return self.read(tuple[MachineAddress, ...], (), "status", "addresses")

    @property
    def failure_domain(self) -> str:
        """Where the host was put."""
        return self.read(str, "", "status", "failureDomain") or self.read(str, "", "spec", "failureDomain")

    @property
    def interruptible(self) -> bool:
        """Whether the host may be taken away at any time."""
        return self.read(bool, False, "status", "interruptible")


class BootstrapConfig(Provider):
    """What makes a host a Node."""

    __slots__ = ()

    @property
    def data_secret_created(self) -> bool:
        """Whether the boot data is there."""
        return self._said(("status", "ready"), ("status", "initialization", "dataSecretCreated"))

    @property
    def data_secret_name(self) -> str:
        """The Secret with the boot data."""
        return self.read(str, "", "status", "dataSecretName")


class ControlPlane(Provider):
    """What runs the tenant's API. All numbers are None if the provider does not count replicas."""

    __slots__ = ()

    @property
    def initialized(self) -> bool:
        """Whether the tenant's API took its first request."""
        return self._said(("status", "initialized"), ("status", "initialization", "controlPlaneInitialized"))

    @property
    def control_plane_endpoint(self) -> Endpoint:
        """Where the tenant's API is, if the control plane decides that."""
        return self.read(Endpoint, Endpoint(), "spec", "controlPlaneEndpoint")

    @property
    def external(self) -> bool:
        """Whether it runs elsewhere than on Machines of the cluster."""
        return self.read(bool, False, "status", "externalManagedControlPlane")

    @property
    def version(self) -> str:
        """The Kubernetes version that is asked for."""
        return self.read(str, "", "spec", "version")

    @property
    def versions(self) -> Mapping[str, int]:
        """The versions that run, with how many replicas each."""
        listed = self.read(tuple[dict[str, Any], ...], (), "status", "versions")
        if listed:
            return {str(each.get("version", "")): int(each.get("replicas") or 0) for each in listed}
        single = self.read(str, "", "status", "version")
        return {single: self.replicas or 0} if single else {}

    @property
    def rollout_after(self) -> datetime | None:
        """When all its machines are to be replaced."""
        path = ("spec", "rolloutAfter") if self.contract == "v1beta1" else ("spec", "rollout", "after")
        return self.optional(datetime, *path)

    @property
    def desired_replicas(self) -> int | None:
        """How many are asked for."""
        return self.optional(int, "spec", "replicas")

    @property
    def replicas(self) -> int | None:
        """How many there are."""
        return self.optional(int, "status", "replicas")

    @property
    def ready_replicas(self) -> int | None:
        """How many work."""
        return self.optional(int, "status", "readyReplicas")

    @property
    def available_replicas(self) -> int | None:
        """How many have worked for long enough."""
        if self.contract == "v1beta1" and (missing := self.optional(int, "status", "unavailableReplicas")) is not None:
            return max((self.desired_replicas or 0) - missing, 0)
        return self.optional(int, "status", "availableReplicas")

    @property
    def up_to_date_replicas(self) -> int | None:
        """How many are as they are declared."""
        return self.optional(int, "status", "updatedReplicas" if self.contract == "v1beta1" else "upToDateReplicas")
