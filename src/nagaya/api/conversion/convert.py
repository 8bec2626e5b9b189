"""The whole conversion: which objects are old, what becomes of each, and a last look at the result."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from nagaya.api import catalog, crd
from nagaya.api.conversion import v1alpha1, v1beta1
from nagaya.api.conversion.draft import Draft
from nagaya.api.conversion.finding import Finding, subject_of
from nagaya.api.conversion.fit import Fitting
from nagaya.api.conversion.proxmox import objects as capmox
from nagaya.api.conversion.v1alpha1.infrastructure import Infrastructure
from nagaya.api.ipam import v1alpha1 as pools

TARGET: Final = "v1beta2"
CONVERSION_DATA: Final = "cluster.x-k8s.io/conversion-data"


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a conversion came to."""

    objects: tuple[dict[str, Any], ...]
    findings: tuple[Finding, ...]

    @property
    def lossless(self) -> bool:
        """Whether the result says everything that the source said."""
        return not any(finding.loss for finding in self.findings)


def convert(objects: Iterable[Mapping[str, Any]], infrastructure: Infrastructure | None = None) -> Conversion:
    """Objects as v1beta2 has them, in their order; objects of other APIs as they are. The source is not changed."""
    source = [copy.deepcopy(dict(each)) for each in objects]
    findings: list[Finding] = []
    legacy = v1alpha1.Legacy(source, findings, infrastructure or Infrastructure())
    result: list[dict[str, Any]] = []
    for each in source:
        group, version = _group_version(each)
        if (group, version) == (v1alpha1.GROUP, "v1alpha1") and each["kind"] in v1alpha1.KINDS:
            subject = subject_of(each)
            _without_server_fields(each, findings)
            result += (_fitted(made, subject, findings) for made in legacy.convert(each))
        elif each.get("apiVersion") == pools.OLD_API_VERSION and each["kind"] in pools.POOL_KINDS:
            result.append(_pool(each, findings))
        elif version in v1beta1.VERSIONS.get(group, ()) and (group, each["kind"]) in v1beta1.KINDS:
            result.append(_from_v1beta1(each, group, findings))
        elif each.get("apiVersion") == capmox.OLD_API_VERSION and each["kind"] in capmox.KINDS:
            result.append(_from_capmox(each, findings))
        else:
            _tell_of_unknown(each, group, version, findings)
            result.append(each)
    return Conversion(tuple(result), tuple(findings))


def _from_v1beta1(content: dict[str, Any], group: str, findings: list[Finding]) -> dict[str, Any]:
    subject = subject_of(content)
    _without_server_fields(content, findings)
    metadata = content.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    content["apiVersion"] = f"{group}/{TARGET}"
    v1beta1.KINDS[group, content["kind"]](Draft(content, findings, subject, namespace or ""))
    return _fitted(content, subject, findings)


def _pool(content: dict[str, Any], findings: list[Finding]) -> dict[str, Any]:
    """A pool of the in-cluster provider, which has versions of its own."""
    subject = subject_of(content)
    _without_server_fields(content, findings)
    try:
        return _fitted(pools.converted(content), subject, findings)
    except ValueError as error:
        message = f"{error}, so the object was left as it is."
        findings.append(Finding(subject, "spec.subnet", message, loss=True))
        return content


def _from_capmox(content: dict[str, Any], findings: list[Finding]) -> dict[str, Any]:
    """What v1alpha1 of CAPMOX has no place for is in an annotation of it, and comes back."""
    draft = Draft(content, findings, subject_of(content))
    draft.drop("status", "left out: controllers find it out anew.", loss=False)
    for path in capmox.left_behind(content):
        message = f"not carried over: v1alpha1 has no such field, or {capmox.NEW_API_VERSION} has no place for it."
        draft.report(path, message, loss=True)
    made = capmox.to_new(content)
    made.pop("status", None)
    annotations = made["metadata"].get("annotations") or {}
    annotations.pop(capmox.OLD_DATA, None)
    if not annotations:
        made["metadata"].pop("annotations", None)
    return _fitted(made, draft.subject, findings)


def _without_server_fields(content: dict[str, Any], findings: list[Finding]) -> None:
    """Without what only a server can say of an object; it is there if the manifest was read from one."""
    draft = Draft(content, findings, subject_of(content))
    if content.get("status"):
        draft.report("status", "left out: controllers find it out anew.", loss=False)
    draft.take("status")
    metadata = draft.at("metadata")
    if metadata is not None:
        metadata.take("managedFields")
        annotations = metadata.at("annotations")
        if annotations is not None:
            annotations.drop(
                CONVERSION_DATA,
                "not carried over: it holds fields that the old version could not show. Read the object at its "
                f"version {TARGET} from the server instead, which needs no conversion.",
            )


def _fitted(content: dict[str, Any], subject: str, findings: list[Finding]) -> dict[str, Any]:
    schema = _schema(content["apiVersion"], content["kind"])
    return content if schema is None else Fitting(subject, findings).fit(content, schema)


def _tell_of_unknown(content: Mapping[str, Any], group: str, version: str, findings: list[Finding]) -> None:
    ours = group in v1beta1.VERSIONS and (group, content["kind"]) in v1beta1.KINDS
    if (ours and version != TARGET) or group == v1alpha1.GROUP:
        message = f"{content.get('apiVersion')} is not known here, so the object was left as it is."
        findings.append(Finding(subject_of(content), "apiVersion", message, loss=True))


def _group_version(content: Mapping[str, Any]) -> tuple[str, str]:
    group, _, version = str(content.get("apiVersion") or "").rpartition("/")
    return group, version


@cache
def _schema(api_version: str, kind: str) -> crd.Schema | None:
    definitions = (definition for part in catalog.PARTS.values() for definition in part)
    found = (each for each in definitions if (each.kind.api_version, each.kind.kind) == (api_version, kind))
    return next(map(crd.schema, found), None)
