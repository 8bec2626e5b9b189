"""L20: what the pods mount must exist before them, and must not be made by other pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifest import Manifest
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.plain import text
from nagaya.cloud.lint.workload import Reference, Workload

_ID: Final = "L20"
_MAKERS: Final = ("ExternalSecret", "ClusterExternalSecret", "SealedSecret", "VaultStaticSecret")
_EVERYWHERE: Final = ("kube-root-ca.crt", "extension-apiserver-authentication")


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.inside:
        for reference in {(one.kind, one.name): one for one in each.references()}.values():
            if not each.static and reference.name not in _EVERYWHERE:
                yield from _reference(manifests, each, reference)


def _reference(manifests: Manifests, workload: Workload, reference: Reference) -> Iterator[Finding]:
    if manifests.find(reference.kind, workload.namespace, reference.name) is not None:
        return
    certificate = any(text(each.spec.get("secretName")) == reference.name for each in manifests.of("Certificate"))
    if certificate:
        return  # L24 speaks of it
    maker = _maker(manifests, workload.namespace, reference)
    what = f"{reference.kind} {workload.namespace}/{reference.name}"
    if maker is not None:
        yield finding(
            _ID,
            Severity.ERROR,
            workload.manifest,
            reference.path,
            what,
            f"It is made by {maker}, that is by pods which do not run before nodes are initialised; and without it the "
            "cloud controller manager does not start.",
            f"Make {what} before the cloud controller manager: with kubectl, or by a ClusterResourceSet.",
        )
        return
    yield finding(
        _ID,
        Severity.ERROR if manifests.complete else Severity.WARNING,
        workload.manifest,
        reference.path,
        what,
        f"{'It does not exist' if manifests.complete else 'It is not in these manifests'}; without it "
        "no container starts.",
        f"kubectl -n {workload.namespace} create {_word(reference)} {reference.name} --from-file=...",
    )


def _word(reference: Reference) -> str:
    return "secret generic" if reference.kind == "Secret" else "configmap"


def _maker(manifests: Manifests, namespace: str, reference: Reference) -> Manifest | None:
    if reference.kind != "Secret":
        return None
    for each in manifests.of(*_MAKERS):
        target = text(each.at("spec", "target", "name")) or text(each.at("spec", "destination", "name")) or each.name
        if target == reference.name and each.namespace in ("", namespace):
            return each
    return None


CHECK: Final = Check(
    _ID,
    "the cloud controller manager's configuration is missing, or made by pods",
    Severity.ERROR,
    """A pod whose Secret or ConfigMap does not exist is scheduled and stays in ContainerCreating. If external-secrets,
sealed-secrets or another controller makes it, and that runs as pods of the same cluster, both wait for each other:
make the configuration from outside. In a set of files a missing object may simply be elsewhere, so that is a warning;
in a running cluster it is an error.""",
    _run,
)
