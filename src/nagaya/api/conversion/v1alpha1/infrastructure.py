"""Settings of the infrastructure, which were inside other objects, as objects of their own.

What the settings say is the provider's affair and is copied as it is; only where they are kept changes. The kinds are
named as providers name theirs today: AWSMachineProviderSpec tells that the provider is AWS, hence AWSMachineTemplate.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_SUFFIX: Final = re.compile(r"(?:Machine|Cluster)?(?:Class)?Provider(?:Spec|Config)$")
UNKNOWN: Final = "Unknown"


@dataclass(frozen=True, slots=True)
class Infrastructure:
    """Which provider the converted objects are for."""

    api_version: str = "infrastructure.cluster.x-k8s.io/v1beta2"
    provider: str = ""
    """How the provider's kinds begin, such as Proxmox. Found from the kind of the old settings if empty."""

    def kind(self, settings: Mapping[str, Any], noun: str) -> str:
        """The kind for settings that were inside something: `AWSMachineTemplate`, for example."""
        named = str(settings.get("kind") or "")
        return f"{self.provider or _SUFFIX.sub('', named) or UNKNOWN}{noun}"

    def known(self, settings: Mapping[str, Any]) -> bool:
        """Whether anything tells which provider the settings are for."""
        return bool(self.provider or settings.get("kind"))

    def made(self, settings: Mapping[str, Any], noun: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """The object that holds the settings."""
        spec = {name: value for name, value in settings.items() if name not in ("apiVersion", "kind")}
        if spec.get("metadata") in ({}, {"creationTimestamp": None}):
            del spec["metadata"]  # written by programs, never meant
        spec = copy.deepcopy(spec)  # a MachineClass may be used several times
        kind = self.kind(settings, noun)
        content = {"template": {"spec": spec}} if noun.endswith("Template") else spec
        return {"apiVersion": self.api_version, "kind": kind, "metadata": dict(metadata), "spec": content}

    def reference(self, made: Mapping[str, Any]) -> dict[str, str]:
        """How other objects name a made one."""
        group, _, _ = made["apiVersion"].rpartition("/")
        return {"apiGroup": group, "kind": made["kind"], "name": made["metadata"]["name"]}
