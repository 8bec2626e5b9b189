"""L9: the cloud controller manager must not need cluster DNS to reach its cloud."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.cloud_config import is_address
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L9"


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.initialisers:
        if not each.uses_cluster_dns or _has_resolvers(each):
            continue
        names, seen = _names(manifests, each)
        if seen and not names:
            continue
        certain = bool(names) and not _dns_starts(manifests)
        yield finding(
            _ID,
            Severity.ERROR if certain else Severity.WARNING,
            each.manifest,
            f"{each.path}.dnsPolicy",
            f"dnsPolicy: {each.dns_policy}",
            f"It asks cluster DNS for names{f', such as {names[0]}' if names else ''}. CoreDNS does not tolerate nodes "
            "that are not initialised, so before the cloud controller manager has worked nobody answers"
            + (
                "."
                if names
                else ". Its configuration is not in the set: if that names the cloud by a name and not by an address, "
                "this is a deadlock."
            ),
            "dnsPolicy: Default" + ("" if each.host_network else "\nhostNetwork: true"),
        )


def _names(manifests: Manifests, workload: Workload) -> tuple[list[str], bool]:
    """The names that it must look up, and whether the configuration could be seen."""
    config = manifests.cloud_config(workload)
    names = [] if config is None else config.names()
    server = urlsplit(workload.flag("master")).hostname or ""
    if server and not is_address(server):
        names.append(server)
    return names, config is not None and bool(config.hosts())


def _has_resolvers(workload: Workload) -> bool:
    """Whether it names resolvers of its own."""
    return workload.dns_policy == "None"


def _dns_starts(manifests: Manifests) -> bool:
    """Whether cluster DNS comes up on nodes that are new, which no usual CoreDNS does."""
    return any(manifests.obstacle(each) is None for each in manifests.dns) and not manifests.network_waits


CHECK: Final = Check(
    _ID,
    "the cloud controller manager needs cluster DNS, which needs initialised nodes",
    Severity.ERROR,
    """dnsPolicy ClusterFirstWithHostNet, and ClusterFirst without hostNetwork, send every question to cluster DNS
first. CoreDNS runs as an ordinary Deployment that does not tolerate nodes which are not initialised, so a cloud
controller manager that has to look up its cloud's name waits for pods that wait for it. dnsPolicy Default takes the
node's resolver; ClusterFirst with hostNetwork means the same.""",
    _run,
)
