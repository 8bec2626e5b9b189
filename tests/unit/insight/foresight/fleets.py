"""Fleets for tests, told by what matters about them."""

from __future__ import annotations

from typing import Any

from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.api.contract.template import SUFFIX
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.insight.foresight.fleet import Fleet, Template
from nagaya.insight.foresight.rollout import Rollout, play
from support.builders import BOOTSTRAP, INFRASTRUCTURE, NAMESPACE, NOW, cluster, machine_deployment

OLD, NEW = "v1.36.3", "v1.36.4"


def fleet(replicas: int = 3, version: str = OLD, **spec: Any) -> Fleet:
    """A Cluster without a control plane object, and the workers of one deployment, which is just declared."""
    draft = machine_deployment().having(
        metadata={"namespace": NAMESPACE},
        spec={
            "replicas": replicas,
            "selector": {"matchLabels": {"role": "deckhand"}},
            "template": {"metadata": {"labels": {"role": "deckhand"}}, "spec": {"version": version}},
            **spec,
        },
    )
    deployment = draft.made()
    ship = cluster().having(spec={"controlPlaneRef": None}).made()
    made = Fleet(ship, NOW, deployments={deployment.metadata.name: deployment})
    template = deployment.spec.template.spec
    references = [template.infrastructure_ref]
    if template.bootstrap.config_ref is not None:
        references.append(template.bootstrap.config_ref)
    made.templates = {
        (each.api_group, each.kind, each.name): Template(each, _kind(each.kind), _product(each.kind), _content(each))
        for each in references
    }
    return made


def changed(made: Fleet, **spec: Any) -> Fleet:
    """The fleet with another declaration of its deployment; what was played before is forgotten."""
    (deployment,) = made.deployments.values()
    content = MACHINE_DEPLOYMENTS.content(deployment)
    template = {**content["spec"]["template"]["spec"], **spec.pop("machine", {})}
    inner = {**content["spec"]["template"], "spec": template}
    metadata = {**content["metadata"], "generation": content["metadata"].get("generation", 1) + 1}
    content = {**content, "metadata": metadata, "spec": {**content["spec"], "template": inner, **spec}}
    made.deployments = {deployment.metadata.name: MACHINE_DEPLOYMENTS.convert(content)}
    made.moves.clear()
    return made


def settled(replicas: int = 3, **spec: Any) -> Fleet:
    """A fleet all of whose machines are there."""
    made = fleet(replicas, **spec)
    play(made)
    assert len(made.machines) == replicas
    made.moves.clear()
    return made


def shown(rollout: Rollout) -> str:
    """The moves in a line."""
    return " ".join(f"{'+' if each.made else '-'}{each.machine.rpartition('-')[2]}" for each in rollout.moves)


def _kind(kind: str) -> Kind[Untyped]:
    group = INFRASTRUCTURE.group if kind.startswith(INFRASTRUCTURE.kind) else BOOTSTRAP.group
    return Kind(group, "v1", kind, f"{kind.lower()}s", Untyped)


def _product(kind: str) -> Kind[Untyped]:
    return _kind(kind.removesuffix(SUFFIX))


def _content(reference: Any) -> Untyped:
    metadata = {"name": reference.name, "namespace": NAMESPACE}
    return Untyped(
        {
            "apiVersion": f"{reference.api_group}/v1",
            "kind": reference.kind,
            "metadata": metadata,
            "spec": {"template": {"spec": {"size": 3}}},
        }
    )
