"""What a container gets that its author left out."""

from __future__ import annotations

import re
from typing import Final

from nagaya.apiserver.builtins.kinds import pod_resources
from nagaya.apiserver.meta.status import JsonObject
from nagaya.wire.remembered import remember_short

_HOST_PART: Final = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST: Final = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PART: Final = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_NAME: Final = rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*"
_TAG: Final = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST: Final = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE: Final = rf"({_NAME})(?::({_TAG}))?(?:@({_DIGEST}))?"
_IDENTIFIER: Final = "[a-f0-9]{64}"

PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


@remember_short(1024)
def pull_policy(image: str) -> str:
    """When an image is pulled, if nobody says: always if its tag moves."""
    # Compiled at first use, since a server that sees no pods has no use for it.
    found = None if re.fullmatch(_IDENTIFIER, image) else re.fullmatch(_REFERENCE, image)
    if found is None:
        return "IfNotPresent"
    _, tag, digest = found.groups()
    return "Always" if tag == "latest" or not (tag or digest) else "IfNotPresent"


def default_container(container: JsonObject) -> None:
    """Fill in a container of any sort."""
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if source := variable.get("valueFrom"):
            if (field := source.get("fieldRef")) is not None:
                field.setdefault("apiVersion", "v1")
            if (file := source.get("fileKeyRef")) is not None:
                file.setdefault("optional", False)
    pod_resources.round_up_requirements(container.get("resources"))
    for name in PROBES:
        if (probe := container.get(name)) is not None:
            _default_probe(probe)
    if lifecycle := container.get("lifecycle"):
        for name in ("postStart", "preStop"):
            _default_http((lifecycle.get(name) or {}).get("httpGet"))


def _default_probe(probe: JsonObject) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        if not probe.get(name):
            probe[name] = value
    _default_http(probe.get("httpGet"))
    if (grpc := probe.get("grpc")) is not None:
        grpc.setdefault("service", "")


def _default_http(action: JsonObject | None) -> None:
    if action is not None:
        action.setdefault("path", "/")
        action.setdefault("scheme", "HTTP")
