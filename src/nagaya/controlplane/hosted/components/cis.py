"""Where the CIS Kubernetes Benchmark is not followed, and why: its automated checks of settings, and no others.

Checks are numbered as in version 1.12 of the benchmark. A test runs all of them over what is rendered, and fails both
if a check fails that is not listed here and if one is listed that does not fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Where(StrEnum):
    """Which control planes a waiver is for."""

    ALL = "all"
    SQL = "with a SQL data store"
    PODS = "in a management cluster"


@dataclass(frozen=True, slots=True)
class Waiver:
    """One check that fails."""

    check: str
    asks: str
    where: Where
    reason: str


WAIVERS: Final = (
    Waiver(
        "1.2.5",
        "`--kubelet-certificate-authority` is set",
        Where.ALL,
        "Kubelets sign their serving certificates themselves until somebody approves better ones, which Kubernetes "
        "does not do by itself: logs and exec would fail. `spec.kubelet.verifyServingCertificates: true` sets it.",
    ),
    Waiver(
        "1.2.23",
        "`--etcd-certfile` and `--etcd-keyfile` are set",
        Where.SQL,
        "kine is reached through a Unix socket in a folder that only the API server can enter: there is no connection "
        "that a certificate would protect.",
    ),
    Waiver(
        "1.2.26",
        "`--etcd-cafile` is set",
        Where.SQL,
        "As 1.2.23: there is no server on a network whose certificate could be verified.",
    ),
    Waiver(
        "1.3.7",
        "kube-controller-manager has `--bind-address=127.0.0.1`",
        Where.PODS,
        "The kubelet's probes come from outside of the pod. A NetworkPolicy lets nobody else in, and all but health is "
        "served by TLS to those alone whom the tenant's API authorises.",
    ),
    Waiver(
        "1.4.2",
        "kube-scheduler has `--bind-address=127.0.0.1`",
        Where.PODS,
        "As 1.3.7.",
    ),
)
