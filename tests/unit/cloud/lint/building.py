"""A correct cluster, to be spoilt in one place at a time, and what the linter says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from nagaya.api.conversion import manifests as documents
from nagaya.cloud.lint.finding import Finding
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.report import lint
from nagaya.cloud.lint.workload import Workload

FOLDER = Path(__file__).parent / "manifests"
Raw = dict[str, Any]


def manifests_of(*names: str) -> list[Raw]:
    """The objects of files in the folder, as plain values that may be changed."""
    texts = [(FOLDER / f"{name}.yaml").read_bytes() for name in names]
    # Through JSON-like copies: an anchor must not be changed in two places.
    return [each for text in texts for each in _copies(documents.read(text, "file"))]


def _copies(objects: list[Raw]) -> list[Raw]:
    return [yaml.safe_load(documents.write([each])) for each in objects]


class Cluster:
    """The correct one."""

    def __init__(self, *names: str) -> None:
        self.objects = manifests_of(*(names or ("correct",)))

    def get(self, kind: str, name: str = "") -> Raw:
        """An object that is there."""
        return next(each for each in self.objects if each["kind"] == kind and name in ("", each["metadata"]["name"]))

    def drop(self, kind: str, name: str = "") -> None:
        """Leave an object out."""
        self.objects.remove(self.get(kind, name))

    def add(self, text: str) -> None:
        """One more object, or several."""
        self.objects += documents.read(text, "added")

    @property
    def cloud(self) -> Raw:
        """The Deployment of the cloud controller manager."""
        return self.get("Deployment", "cloud-controller-manager")

    @property
    def pod(self) -> Raw:
        """Its pod."""
        pod: Raw = self.cloud["spec"]["template"]["spec"]
        return pod

    @property
    def network(self) -> Raw:
        """The pod of the pod network."""
        pod: Raw = self.get("DaemonSet")["spec"]["template"]["spec"]
        return pod

    @property
    def arguments(self) -> list[str]:
        """The command line of the cloud controller manager."""
        words: list[str] = self.pod["containers"][0]["command"]
        return words

    def registrations(self) -> list[Raw]:
        """How nodes register: control plane first."""
        control_plane = self.get("KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]
        worker = self.get("KubeadmConfigTemplate")["spec"]["template"]["spec"]
        parts = (control_plane["initConfiguration"], control_plane["joinConfiguration"], worker["joinConfiguration"])
        return [each["nodeRegistration"] for each in parts]

    def tolerate_less(self, key: str, effect: str = "NoSchedule") -> None:
        """Take a toleration from the cloud controller manager."""
        self.pod["tolerations"] = [
            each for each in self.pod["tolerations"] if (each["key"], each["effect"]) != (key, effect)
        ]

    def without_addresses(self) -> None:
        """Kubelets that do not say their addresses."""
        for each in self.registrations():
            each["kubeletExtraArgs"] = [{"name": "cloud-provider", "value": "external"}]

    def manifests(self, *, complete: bool = False) -> Manifests:
        """The set."""
        return Manifests((Manifest(each, "file") for each in self.objects), complete=complete)

    def findings(self, *, complete: bool = False) -> tuple[Finding, ...]:
        """Everything the linter says."""
        return lint(self.manifests(complete=complete)).findings

    def said(self, *, complete: bool = False) -> list[str]:
        """The same, in short."""
        return [f"{each.check} {each.severity}" for each in self.findings(complete=complete)]

    def only(self, check: str, *, complete: bool = False) -> Finding:
        """The one finding of a check."""
        (found,) = [each for each in self.findings(complete=complete) if each.check == check]
        return found


def workload(text: str) -> Workload:
    """A workload from YAML."""
    (raw,) = documents.read(text, "text")
    return Workload(Manifest(raw))


def pod_with(**spec: Any) -> Workload:
    """A Deployment whose pods are so."""
    raw = {"kind": "Deployment", "metadata": {"name": "some"}, "spec": {"template": {"spec": spec}}}
    return Workload(Manifest(raw))
