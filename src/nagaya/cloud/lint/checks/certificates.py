"""L24: the cloud controller manager must not wait for certificates or volumes that pods provide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.cloud_config import mounted_secrets
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.plain import at, mappings, text

_ID: Final = "L24"


def _run(manifests: Manifests) -> Iterator[Finding]:
    issued = {(each.namespace, text(each.spec.get("secretName"))): each for each in manifests.of("Certificate")}
    for workload in manifests.inside:
        for name, path in mounted_secrets(workload):
            certificate = issued.get((workload.namespace, name))
            present = manifests.find("Secret", workload.namespace, name) is not None
            if certificate is not None and not present:
                yield finding(
                    _ID,
                    Severity.ERROR,
                    workload.manifest,
                    path,
                    f"Secret {workload.namespace}/{name}",
                    f"It mounts the Secret of {certificate}, which cert-manager's pods make; those wait for nodes that "
                    "the cloud controller manager initialises.",
                    "Mount a certificate that is made before the cluster, or let the program make its own (leave "
                    "--tls-cert-file out).",
                )
        for index, volume in enumerate(mappings(workload.pod.get("volumes"))):
            driver = text(at(volume, "csi", "driver"))
            if driver or "persistentVolumeClaim" in volume or "ephemeral" in volume:
                yield finding(
                    _ID,
                    Severity.ERROR,
                    workload.manifest,
                    f"{workload.path}.volumes[{index}]",
                    driver or "persistentVolumeClaim",
                    f"The volume is provided by a storage driver{f' ({driver})' if driver else ''} whose pods wait for "
                    "nodes that the cloud controller manager initialises.",
                    "Use a Secret, a ConfigMap, an emptyDir or a hostPath.",
                )


CHECK: Final = Check(
    _ID,
    "the cloud controller manager waits for certificates or volumes that pods provide",
    Severity.ERROR,
    """cert-manager, storage drivers and ingress controllers are ordinary pods: they wait for initialised nodes. A
cloud controller manager that mounts a certificate from cert-manager, or a volume of a CSI driver, waits for them, and
they for it.""",
    _run,
)
