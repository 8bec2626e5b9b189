"""All checks run over a set, and what was and was not there to be looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nagaya.cloud.lint.catalog import CHECKS
from nagaya.cloud.lint.check import Check
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests


@dataclass(frozen=True, slots=True)
class Report:
    """What came of it."""

    findings: tuple[Finding, ...]
    """The worst first; of the same severity in the order of the checks."""
    looked_at: tuple[str, ...]
    """The cloud controller managers and the workloads of the pod network."""
    unseen: tuple[str, ...]
    """What is not in the set, though findings would be surer with it."""
    objects: int
    ignored: int

    def worst(self) -> Severity | None:
        """How bad it is; None if nothing was found."""
        return self.findings[0].severity if self.findings else None


def lint(manifests: Manifests, checks: Iterable[Check] = CHECKS) -> Report:
    """Run checks. The same set gives the same report."""
    found = [each for check in checks for each in check.run(manifests)]
    return Report(
        tuple(sorted(dict.fromkeys(found), key=lambda each: -each.severity.rank)),
        (*(str(each) for each in manifests.clouds), *(str(each.workload) for each in manifests.networks)),
        tuple(_unseen(manifests)),
        len(manifests.objects),
        manifests.ignored,
    )


def _unseen(manifests: Manifests) -> Iterable[str]:
    if not manifests.clouds:
        yield "a cloud controller manager"
    if not manifests.networks and not manifests.of("Installation"):
        yield "a pod network"
    if not manifests.registrations:
        yield "settings of kubelets (KubeadmConfigTemplate, KubeadmControlPlane, or kubeadm's files)"
