"""The templates of providers that a deployment refers to: each is there, is missing, or cannot be used.

What is referred to by a kind that is not named like a template is none, and is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.provider import Provider
from nagaya.api.contract.template import SUFFIX
from nagaya.clusters.external import Referenced, look_up
from nagaya.kube.runtime import Runtime

Template: TypeAlias = Referenced[Provider]


@dataclass(frozen=True, slots=True)
class Templates:
    """What the machines of a deployment are made from, bootstrap data first."""

    all: tuple[Template, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The kinds of those that do not exist."""
        return tuple(each.reference.kind for each in self.all if each.missing)

    @property
    def problem(self) -> str:
        """Why it is not known whether they exist. Empty if it is."""
        return " ".join(each.problem for each in self.all if each.problem and not each.missing)


NOT_LOOKED_AT: Final = Templates()


def references(deployment: MachineDeployment) -> tuple[ContractReference, ...]:
    """All references of a deployment to templates."""
    spec = deployment.spec.template.spec
    config = spec.bootstrap.config_ref
    return tuple(each for each in (config, spec.infrastructure_ref) if each is not None and each.kind.endswith(SUFFIX))


def templates_of(rt: Runtime, deployment: MachineDeployment) -> Templates:
    """Follow the references of a deployment, by cached reads alone."""
    namespace = deployment.metadata.namespace
    return Templates(tuple(look_up(rt, namespace, each, Provider) for each in references(deployment)))
