"""L16: kubelets, kube-controller-manager and the cloud controller manager must agree on who initialises nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests

_ID: Final = "L16"


def _run(manifests: Manifests) -> Iterator[Finding]:
    external = [each for each in manifests.registrations if each.external]
    if external and not manifests.initialisers and not manifests.outside:
        there = manifests.inside[0] if manifests.inside else None
        yield finding(
            _ID,
            Severity.WARNING if manifests.hosted else Severity.ERROR,
            external[0].manifest,
            f"{external[0].path}.kubeletExtraArgs",
            "--cloud-provider=external",
            "The kubelets wait to be initialised by a cloud controller manager, and "
            + (f"{there} does not run the controller cloud-node" if there else "there is none in the set")
            + ("; one must run next to the hosted control plane." if manifests.hosted else "."),
            "Lint the cloud controller manager together with this, or leave --cloud-provider out."
            if there is None
            else "args:\n- --controllers=*",
        )
    if manifests.registrations and manifests.initialisers and not external:
        each = manifests.registrations[0]
        yield finding(
            _ID,
            Severity.WARNING,
            each.manifest,
            f"{each.path}.kubeletExtraArgs",
            "--cloud-provider",
            f"No kubelet is started with --cloud-provider=external, so {manifests.initialisers[0]} never initialises a "
            "node: it gets neither labels nor addresses nor a providerID from it.",
            each.argument("cloud-provider", "external"),
        )
    for each in manifests.registrations:
        value = each.arguments.get("cloud-provider", "")
        if value not in ("", "external"):
            yield finding(
                _ID,
                Severity.ERROR,
                each.manifest,
                f"{each.path}.kubeletExtraArgs",
                f"--cloud-provider={value}",
                "Kubernetes has no cloud providers of its own since 1.31: the kubelet refuses to start with it.",
                each.argument("cloud-provider", "external"),
            )
    yield from _controller_manager(manifests)


def _controller_manager(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.control_plane_arguments:
        value = each.controller_manager.get("cloud-provider", "")
        path = f"{each.path}.controllerManager.extraArgs".lstrip(".")
        if value not in ("", "external"):
            yield finding(
                _ID,
                Severity.ERROR,
                each.manifest,
                path,
                f"--cloud-provider={value}",
                "kube-controller-manager has no cloud providers of its own since 1.31, and does not start with one.",
                "extraArgs:\n- name: cloud-provider\n  value: external",
            )


CHECK: Final = Check(
    _ID,
    "kubelets and the cloud controller manager do not agree",
    Severity.ERROR,
    """A kubelet with --cloud-provider=external waits to be initialised; without it, it does not, and a cloud
controller manager leaves its node alone. Only `external` and nothing are allowed since Kubernetes 1.31. In a set that
has the kubelets' settings, a cloud controller manager that runs cloud-node must be there too, inside of the cluster or
next to a hosted control plane.""",
    _run,
)
