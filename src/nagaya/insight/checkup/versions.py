"""Whether the versions within a cluster go together, as Kubernetes' version skew policy has it. Pure.

Kubelets may be up to three minor versions older than the API server, and never newer; API servers of one cluster differ
by one at the most.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nagaya.api.cluster.labels import CONTROL_PLANE
from nagaya.clusters.kubernetes_version import KubernetesVersion, parse
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.picture.member import Member

CHECK: Final = "versions"
OLDER: Final = 3
"""Minor versions that a kubelet may be older than its API server."""
APART: Final = 1
"""Minor versions that API servers may be apart."""
NAMED: Final = 3
_SIMULATED: Final = "+nagaya"
"""What the API of a simulated tenant has in its version, which is always the same: it tells nothing of the cluster."""


def check(
    subject: Subject, control_plane: Member | None, machines: Iterable[Member], running: str = ""
) -> Finding | None:
    """Compare. `running` is what the tenant's API says of itself; without it, what the control plane is to run counts.
    None if there is nothing to compare."""
    running = "" if _SIMULATED in running else running
    every = list(machines)
    served = {each.name: found for each in every if CONTROL_PLANE in each.metadata.labels and (found := _runs(each))}
    wanted = (
        ""
        if control_plane is None
        else control_plane.text("status", "version") or control_plane.text("spec", "version")
    )
    api = parse(running) or parse(wanted) or max(served.values(), key=_minor, default=None)
    kubelets = {each.name: found for each in every if (found := _runs(each)) is not None}
    if api is None:
        return None
    if served and max(map(_minor, served.values())) - min(map(_minor, served.values())) > APART:
        return subject.problem(
            CHECK,
            f"API servers of one cluster differ by more than one minor version: {_named(served)}.",
            "Upgrade the control plane one minor version at a time, and wait for each: its old machines go first.",
        )
    newer = {name: each for name, each in kubelets.items() if _minor(each) > _minor(api)}
    if newer:
        return subject.problem(
            CHECK,
            f"Kubelets are newer than the API server (v{api}): {_named(newer)}.",
            "Upgrade the control plane first: set spec.version there to that of the workers.",
        )
    old = {name: each for name, each in kubelets.items() if _minor(api) - _minor(each) > OLDER}
    if old:
        return subject.problem(
            CHECK,
            f"Kubelets are more than {OLDER} minor versions older than the API server (v{api}): {_named(old)}.",
            "Upgrade the workers: set spec.template.spec.version of their MachineDeployment.",
        )
    last = {name: each for name, each in kubelets.items() if _minor(api) - _minor(each) == OLDER}
    if last:
        return subject.warning(
            CHECK,
            f"Kubelets are {OLDER} minor versions older than the API server (v{api}), whose next upgrade has to wait "
            f"for them: {_named(last)}.",
            "Upgrade the workers: set spec.template.spec.version of their MachineDeployment.",
        )
    told = ", ".join(sorted({f"v{each}" for each in kubelets.values()}))
    return subject.ok(CHECK, f"The API server runs v{api}{f', kubelets {told}' if told else ''}.")


def _runs(machine: Member) -> KubernetesVersion | None:
    """What the kubelet says beats what is asked for."""
    return parse(machine.text("status", "nodeInfo", "kubeletVersion") or machine.text("spec", "version") or "-")


def _minor(version: KubernetesVersion) -> int:
    return version.major * 1000 + version.minor


def _named(versions: dict[str, KubernetesVersion]) -> str:
    shown = [f"{name} runs v{version}" for name, version in sorted(versions.items())]
    more = f" and {len(shown) - NAMED} more" if len(shown) > NAMED else ""
    return f"{', '.join(shown[:NAMED])}{more}"
