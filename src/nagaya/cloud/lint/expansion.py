"""Manifests inside of manifests: what ClusterResourceSets apply, static pods in boot files, kubeadm's ConfigMaps."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from typing import Final

from nagaya.api.conversion import manifests as documents
from nagaya.cloud.lint.kubelets import kubeadm_specs
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.plain import Object, mapping, mappings, text

STATIC_PODS: Final = "/etc/kubernetes/manifests/"
_KUBEADM_MAPS: Final = ("kubeadm-config", "kubelet-config")


def expanded(manifests: Iterable[Manifest]) -> Iterator[Manifest]:
    """All objects, each followed by those inside of it."""
    known = tuple(manifests)
    applied = {
        (each.namespace, text(resource.get("kind")), text(resource.get("name")))
        for each in known
        if each.kind == "ClusterResourceSet"
        for resource in mappings(each.spec.get("resources"))
    }
    for each in known:
        yield each
        if (each.namespace, each.kind, each.name) in applied or _is_of_kubeadm(each):
            for key, content in contents(each):
                yield from _read(content, f"{each}, key {key}")
        for path, spec, _ in kubeadm_specs(each):
            for file in mappings(spec.get("files")):
                place = text(file.get("path"))
                if place.startswith(STATIC_PODS):
                    yield from _read(text(file.get("content")), f"{each}, {path}.files, {place}")


def contents(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """What a ConfigMap or a Secret holds, as text. What is no text is left out."""
    plain: Object = mapping(manifest.raw.get("stringData"))
    for key, value in {**mapping(manifest.raw.get("data")), **mapping(manifest.raw.get("binaryData"))}.items():
        if key in plain:
            continue
        if manifest.kind != "Secret":
            yield key, text(value)
            continue
        try:
            yield key, base64.b64decode(text(value), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            continue
    for key, value in plain.items():
        yield key, text(value)


def _is_of_kubeadm(manifest: Manifest) -> bool:
    return (
        manifest.kind == "ConfigMap"
        and manifest.namespace == "kube-system"
        and any(manifest.name.startswith(each) for each in _KUBEADM_MAPS)
    )


def _read(content: str, source: str) -> Iterator[Manifest]:
    """The objects of a text. One that cannot be read is not what a linter for deadlocks is about."""
    try:
        found = documents.read(content, source)
    except documents.ManifestError:
        return
    yield from (Manifest(each, source) for each in found)
