"""The templates of providers that a deployment refers to: each is there, is missing, or cannot be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.machine_deployment import MachineDeployment
from nagaya.api.cluster.reference import ContractReference
from nagaya.api.contract.template import SUFFIX
from nagaya.api.contract.versions import NoContract
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.contract_kinds import NotInstalled
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Template:
    """What a reference leads to."""

    reference: ContractReference
    kind: Kind[Untyped] | None = None
    object: Untyped | None = None
    problem: str = ""
    """Why it is not known whether the template exists. Empty if it is."""

    @property
    def named_so(self) -> bool:
        """Whether the reference is to a template at all. What is none is not looked at."""
        return self.reference.kind.endswith(SUFFIX)

    @property
    def missing(self) -> bool:
        """Whether there is certainly no such template."""
        return self.named_so and self.object is None and not self.problem


@dataclass(frozen=True, slots=True)
class Templates:
    """What the machines of a deployment are made from. No templates: they were not looked at."""

    bootstrap: Template | None = None
    infrastructure: Template | None = None

    @property
    def all(self) -> tuple[Template, ...]:
        """Those that there are references to."""
        return tuple(each for each in (self.bootstrap, self.infrastructure) if each is not None)

    @property
    def missing(self) -> tuple[str, ...]:
        """The kinds of those that do not exist."""
        return tuple(each.reference.kind for each in self.all if each.missing)

    @property
    def problem(self) -> str:
        """Why it is not known whether they exist. Empty if it is."""
        return " ".join(each.problem for each in self.all if each.problem)


NOT_LOOKED_AT: Final = Templates()


def references(deployment: MachineDeployment) -> tuple[ContractReference, ...]:
    """All references of a deployment to templates."""
    spec = deployment.spec.template.spec
    config = spec.bootstrap.config_ref
    return tuple(each for each in (config, spec.infrastructure_ref) if each is not None and each.kind.endswith(SUFFIX))


def look_up(rt: Runtime, deployment: MachineDeployment) -> Templates:
    """Follow the references of a deployment, by cached reads alone. The kinds must be in the cache."""
    spec = deployment.spec.template.spec
    namespace = deployment.metadata.namespace
    config = spec.bootstrap.config_ref
    return Templates(
        bootstrap=None if config is None else _look_up(rt, namespace, config),
        infrastructure=_look_up(rt, namespace, spec.infrastructure_ref),
    )


def _look_up(rt: Runtime, namespace: str, reference: ContractReference) -> Template:
    if not reference.kind.endswith(SUFFIX):
        return Template(reference)
    try:
        kind = rt.kinds.resolve(reference.api_group, reference.kind).kind
    except NotInstalled:
        return Template(reference)
    except NoContract as error:
        return Template(reference, problem=str(error))
    return Template(reference, kind, rt.cache.get(kind, Key(namespace, reference.name)))
