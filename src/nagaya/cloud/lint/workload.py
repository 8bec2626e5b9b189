"""Whatever makes pods: Deployments, DaemonSets, StatefulSets, ReplicaSets, Jobs, and Pods themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from nagaya.cloud.lint import flags
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.plain import Object, at, labels, mapping, mappings, number, text
from nagaya.cloud.lint.taints import Toleration, of_daemon_pod, of_other_pod, read_tolerations

KINDS: Final = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job", "CronJob", "Pod")
MIRROR: Final = "kubernetes.io/config.mirror"
"""The annotation of the API's picture of a static pod."""
_API_VOLUMES: Final = ("configMap", "secret", "persistentVolumeClaim", "projected")


@dataclass(frozen=True)
class Reference:
    """A Secret or ConfigMap that a pod cannot start without."""

    kind: str
    name: str
    path: str


@dataclass(frozen=True, eq=False)
class Workload:
    """A workload and its pods."""

    manifest: Manifest
    static: bool = False
    """Started by a kubelet from a file: neither the scheduler nor taints have a say."""

    def __str__(self) -> str:
        return str(self.manifest)

    @property
    def kind(self) -> str:
        return self.manifest.kind

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def namespace(self) -> str:
        return self.manifest.namespace

    @cached_property
    def path(self) -> str:
        """Where the pod's specification is."""
        if self.kind == "Pod":
            return "spec"
        return "spec.jobTemplate.spec.template.spec" if self.kind == "CronJob" else "spec.template.spec"

    @cached_property
    def pod(self) -> Object:
        """The pod's specification."""
        return mapping(self.manifest.at(*self.path.split(".")))

    @cached_property
    def pod_labels(self) -> dict[str, str]:
        return labels(self.manifest.at(*self.path.split(".")[:-1], "metadata", "labels"))

    @cached_property
    def containers(self) -> tuple[Object, ...]:
        """Those that stay; what runs before them is in `all_containers`."""
        return tuple(mappings(self.pod.get("containers")))

    @cached_property
    def all_containers(self) -> tuple[tuple[str, Object], ...]:
        """All containers, each with the path to it."""
        return tuple(
            (f"{self.path}.{field}[{index}]", each)
            for field in ("initContainers", "containers")
            for index, each in enumerate(mappings(self.pod.get(field)))
        )

    @property
    def host_network(self) -> bool:
        return self.pod.get("hostNetwork") is True

    @property
    def dns_policy(self) -> str:
        return text(self.pod.get("dnsPolicy")) or "ClusterFirst"

    @property
    def uses_cluster_dns(self) -> bool:
        """ClusterFirst means the node's resolver for pods in the host's network."""
        if self.dns_policy == "ClusterFirst":
            return not self.host_network
        return self.dns_policy == "ClusterFirstWithHostNet"

    @property
    def daemon(self) -> bool:
        return self.kind == "DaemonSet"

    @cached_property
    def replicas(self) -> int:
        """How many pods it wants; of a DaemonSet one, though it may be many."""
        wanted = number(self.manifest.spec.get("replicas"))
        return 1 if wanted is None or self.daemon else wanted

    @cached_property
    def tolerations(self) -> tuple[Toleration, ...]:
        """What its pods tolerate when they are made, with what Kubernetes adds."""
        own = read_tolerations(self.pod.get("tolerations"))
        return of_daemon_pod(own, self.host_network) if self.daemon else of_other_pod(own)

    @property
    def service_account(self) -> str:
        return text(self.pod.get("serviceAccountName")) or text(self.pod.get("serviceAccount")) or "default"

    @cached_property
    def flags(self) -> dict[str, str]:
        """The options of all its programs."""
        found: dict[str, str] = {}
        for each in self.containers:
            found |= flags.of_container(each)
        return found

    def flag(self, name: str, default: str = "") -> str:
        """An option of its programs."""
        return self.flags.get(name, default)

    def is_on(self, name: str, default: bool) -> bool:
        """An option that is on or off."""
        value = self.flags.get(name)
        return default if value is None else value.lower() in ("true", "t", "1")

    @cached_property
    def programs(self) -> tuple[str, ...]:
        """The last parts of images and commands, without tags: what its programs are called."""
        found = [self.name]
        for each in self.containers:
            image = text(each.get("image")).partition("@")[0]
            found += [image.rpartition("/")[2].partition(":")[0], text(each.get("name"))]
            found += [word.rpartition("/")[2] for word in flags.words_of(each) if not word.startswith("-")][:1]
        return tuple(filter(None, found))

    @cached_property
    def environment(self) -> dict[str, str]:
        """The variables of all its containers that have a value written down."""
        return {
            text(each.get("name")): text(each.get("value"))
            for container in self.containers
            for each in mappings(container.get("env"))
        }

    def references(self) -> Iterator[Reference]:
        """The Secrets and ConfigMaps that must be there before a container starts."""
        for index, volume in enumerate(mappings(self.pod.get("volumes"))):
            path = f"{self.path}.volumes[{index}]"
            yield from _reference("Secret", volume.get("secret"), "secretName", f"{path}.secret")
            yield from _reference("ConfigMap", volume.get("configMap"), "name", f"{path}.configMap")
            for source in mappings(at(volume, "projected", "sources")):
                yield from _reference("Secret", source.get("secret"), "name", f"{path}.projected")
                yield from _reference("ConfigMap", source.get("configMap"), "name", f"{path}.projected")
        for path, container in self.all_containers:
            for each in mappings(container.get("envFrom")):
                yield from _reference("Secret", each.get("secretRef"), "name", f"{path}.envFrom")
                yield from _reference("ConfigMap", each.get("configMapRef"), "name", f"{path}.envFrom")
            for each in mappings(container.get("env")):
                source_of = mapping(each.get("valueFrom"))
                yield from _reference("Secret", source_of.get("secretKeyRef"), "name", f"{path}.env")
                yield from _reference("ConfigMap", source_of.get("configMapKeyRef"), "name", f"{path}.env")

    def budget(self) -> tuple[int, int]:
        """How many pods a rollout may make too many, and how many it may take away first."""
        if self.kind != "Deployment" or self.manifest.at("spec", "strategy", "type") == "Recreate":
            return 0, self.replicas
        rolling = self.manifest.at("spec", "strategy", "rollingUpdate")
        surge = _share(at(rolling, "maxSurge"), self.replicas, up=True)
        unavailable = _share(at(rolling, "maxUnavailable"), self.replicas, up=False)
        return surge, (1 if not surge and not unavailable else unavailable)


def is_static(manifest: Manifest) -> bool:
    """Whether a Pod is one that a kubelet starts from a file.

    Such a pod cannot refer to anything in the API, so one that does is a pod for the scheduler.
    """
    if MIRROR in manifest.annotations:
        return True
    pod = manifest.spec
    refers = any(kind in volume for volume in mappings(pod.get("volumes")) for kind in _API_VOLUMES)
    return pod.get("hostNetwork") is True and not refers and not pod.get("serviceAccountName")


def _reference(kind: str, value: object, field: str, path: str) -> Iterator[Reference]:
    name = text(at(value, field))
    if name and at(value, "optional") is not True:
        yield Reference(kind, name, path)


def _share(value: object, replicas: int, *, up: bool) -> int:
    """A number of pods or a percentage; a quarter if nothing is said."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    percent = text(value).removesuffix("%") or "25"
    part = replicas * (int(percent) if percent.isdecimal() else 25) / 100
    return math.ceil(part) if up else math.floor(part)
