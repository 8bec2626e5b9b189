"""Which version of a provider's kind to use: its CRD says so in labels, never the reference to the object.

A label `cluster.x-k8s.io/<contract>` lists the API versions that fulfil that contract, joined by underscores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

PREFIX: Final = "cluster.x-k8s.io/"
CONTRACTS: Final = ("v1beta2", "v1beta1")  # the best first
_VERSION: Final = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")
_STAGES: Final = {"alpha": 0, "beta": 1, None: 2}


class Served(NamedTuple):
    """How a kind fulfils the contract."""

    contract: str
    version: str


class NoContract(ValueError):
    """A CRD that fulfils no contract which Nagaya knows."""


def served(name: str, labels: Mapping[str, str]) -> Served:
    """The best contract of a CRD and the newest version for it. Raises NoContract, which says what to do."""
    for contract in CONTRACTS:
        versions = [each for each in labels.get(PREFIX + contract, "").split("_") if each]
        if versions:
            return Served(contract, max(versions, key=rank))
    wanted = " or ".join(PREFIX + contract for contract in CONTRACTS)
    raise NoContract(
        f"CustomResourceDefinition {name} does not say which contract it fulfils: it has no label {wanted}. "
        f"Install a release of the provider that has it, or add the label with the version to use as its value."
    )


def rank(version: str) -> tuple[int, int, int, str]:
    """How new a version is, in Kubernetes' order: v2 > v1 > v2beta1 > v1beta2 > v1alpha1 > anything else."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0, version)
    major, stage, minor = match.groups()
    return (_STAGES[stage], int(major), int(minor or 0), "")
