"""Whether a template of machines still says what another one says, in all that cannot be changed in place.

Only the version, the bootstrap data, the infrastructure and the failure domain make new machines necessary. Labels,
annotations, timeouts, readiness gates and taints reach machines that exist.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from nagaya.api.cluster.machine_spec import MachineSpec
from nagaya.api.contract.template import SUFFIX


@dataclass(frozen=True, slots=True)
class Drift:
    """How two templates differ. One without reasons: they do not."""

    reasons: tuple[str, ...] = ()
    """By the names of fields, for logs."""
    shown: tuple[str, ...] = ()
    """For conditions of machines, whose fields have other names."""

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return bool(self.reasons)


def drift(present: MachineSpec, wanted: MachineSpec) -> Drift:
    """What has to change about machines that were made from one template so that they are what another one says."""
    reasons: list[str] = []
    shown: list[str] = []
    if present.version != wanted.version:
        reasons.append(f"spec.version {present.version}, {wanted.version} required")
        # The condition RollingOut sorts lines by how this one begins.
        shown.append(f"Version {present.version}, {wanted.version} required")
    if present.bootstrap != wanted.bootstrap:
        config, other = present.bootstrap.config_ref, wanted.bootstrap.config_ref
        if config is not None:
            required = f"{other.kind} {other.name}" if other is not None else " "
            reasons.append(f"spec.bootstrap.configRef {config.kind} {config.name}, {required} required")
            shown.append(f"{config.kind.removesuffix(SUFFIX)} is not up-to-date")
        else:
            names = (each.bootstrap.data_secret_name for each in (present, wanted))
            secret, required = ("nil" if name is None else name for name in names)
            reasons.append(f"spec.bootstrap.dataSecretName {secret}, {required} required")
            shown.append(reasons[-1])
    if present.infrastructure_ref != wanted.infrastructure_ref:
        machine, required_machine = present.infrastructure_ref, wanted.infrastructure_ref
        reasons.append(
            f"spec.infrastructureRef {machine.kind} {machine.name}, "
            f"{required_machine.kind} {required_machine.name} required"
        )
        shown.append(f"{machine.kind.removesuffix(SUFFIX)} is not up-to-date")
    if present.failure_domain != wanted.failure_domain:
        reasons.append(f"spec.failureDomain {present.failure_domain}, {wanted.failure_domain} required")
        shown.append(f"Failure domain {present.failure_domain}, {wanted.failure_domain} required")
    return Drift(tuple(reasons), tuple(shown))


def fingerprint(spec: MachineSpec) -> int:
    """A number that changes with whatever makes new machines necessary (FNV-1a, 32 bits)."""
    decisive = (spec.version, spec.bootstrap, spec.infrastructure_ref, spec.failure_domain)
    digest = 0x811C9DC5
    for byte in msgspec.json.encode(decisive, order="deterministic"):
        digest = ((digest ^ byte) * 0x01000193) & 0xFFFFFFFF
    return digest
