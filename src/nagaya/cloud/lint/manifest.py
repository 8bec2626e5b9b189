"""One object of the set that is looked at, and where it is from."""

from __future__ import annotations

from dataclasses import dataclass, field

from nagaya.cloud.lint.plain import Object, at, labels, mapping, text

CLUSTER_SCOPED = frozenset(
    {
        "Namespace",
        "Node",
        "ClusterRole",
        "ClusterRoleBinding",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "PriorityClass",
        "ClusterPolicy",
        "ClusterSecretStore",
        "ClusterExternalSecret",
        "Installation",
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """An object. Two are the same only if they are one."""

    raw: Object = field(repr=False)
    source: str = ""

    @property
    def kind(self) -> str:
        return text(self.raw.get("kind"))

    @property
    def api_version(self) -> str:
        return text(self.raw.get("apiVersion"))

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        group, slash, _ = self.api_version.partition("/")
        return group if slash else ""

    @property
    def name(self) -> str:
        return text(at(self.raw, "metadata", "name")) or text(at(self.raw, "metadata", "generateName"))

    @property
    def namespace(self) -> str:
        """Empty for objects of the cluster; kubectl puts others that name none into `default`."""
        if self.kind in CLUSTER_SCOPED:
            return ""
        return text(at(self.raw, "metadata", "namespace")) or "default"

    @property
    def labels(self) -> dict[str, str]:
        return labels(at(self.raw, "metadata", "labels"))

    @property
    def annotations(self) -> dict[str, str]:
        return labels(at(self.raw, "metadata", "annotations"))

    @property
    def spec(self) -> Object:
        return mapping(self.raw.get("spec"))

    def at(self, *path: str) -> object:
        """What is at a path of member names."""
        return at(self.raw, *path)

    def __str__(self) -> str:
        if not self.name:
            return self.kind
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"
