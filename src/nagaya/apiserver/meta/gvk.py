"""How Kubernetes names kinds and resources, and how those names are printed."""

from __future__ import annotations

from typing import NamedTuple


class GroupResource(NamedTuple):
    """A resource regardless of version, such as `deployments.apps`."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupKind(NamedTuple):
    """A kind regardless of version, such as `Deployment.apps`."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupVersion(NamedTuple):
    """A group with one of its versions; the text form is an object's `apiVersion`."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Read an `apiVersion`. Raises ValueError, with the API server's words, when there is more than one slash."""
        if api_version.count("/") > 1:
            raise ValueError(f"unexpected GroupVersion string: {api_version}")
        group, _, version = api_version.rpartition("/")
        return cls(group, version)


class GroupVersionKind(NamedTuple):
    """A kind in one version: what an object says it is."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"

    @property
    def group_version(self) -> GroupVersion:
        """The kind's group and version."""
        return GroupVersion(self.group, self.version)

    @property
    def group_kind(self) -> GroupKind:
        """The kind without its version."""
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """The text in an object's `apiVersion`."""
        return str(self.group_version)


class GroupVersionResource(NamedTuple):
    """A resource in one version: what a URL names."""

    group: str
    version: str
    resource: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Resource={self.resource}"

    @property
    def group_resource(self) -> GroupResource:
        """The resource without its version."""
        return GroupResource(self.group, self.resource)

    @property
    def group_version(self) -> GroupVersion:
        """The resource's group and version."""
        return GroupVersion(self.group, self.version)
