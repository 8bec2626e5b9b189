"""MachineSets as a deployment wants them.

What a deployment says of them in full is applied to each set, current or old, so that changes in place reach all
machines. Only the part of the template that would need new machines stays as it was when the set was made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from typing import Final

import msgspec

from nagaya.api.cluster.annotations import DESIRED_REPLICAS, DISABLE_MACHINE_CREATE, MAX_REPLICAS, REVISION
from nagaya.api.cluster.labels import CLUSTER_NAME, MACHINE_DEPLOYMENT_NAME, MACHINE_TEMPLATE_HASH
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS, MachineDeployment
from nagaya.api.cluster.machine_set import FINALIZER, MachineSet, MachineSetSpec
from nagaya.api.cluster.machine_spec import MachineTemplate
from nagaya.api.cluster.name_template import MAXIMUM_LENGTH, RANDOM_ALPHABET, RANDOM_LENGTH
from nagaya.api.cluster.selector import LabelSelector
from nagaya.api.cluster.template_metadata import TemplateMetadata
from nagaya.api.meta import ObjectMeta
from nagaya.clusters import owners
from nagaya.core.drift import fingerprint
from nagaya.core.machine_deployment.current import rollout_after
from nagaya.core.machine_deployment.revision import HISTORY
from nagaya.core.machine_deployment.strategy import Limits

_NOT_FOR_SETS: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "cluster.x-k8s.io/conversion-data",
        REVISION,
        HISTORY,
        DESIRED_REPLICAS,
        MAX_REPLICAS,
    }
)
"""Annotations of a deployment that say something of the deployment alone."""


_DEFAULTS: Final = {each.name: each.default for each in msgspec.structs.fields(MachineSetSpec)}
"""Only a field that has the very default of its class is left out of what is sent, and an empty object is refused."""


class NoTemplateHash(ValueError):
    """A MachineSet that was taken over, and whose machines cannot be told apart from those of other sets."""


def new_set(
    deployment: MachineDeployment,
    limits: Limits,
    revisions: Mapping[str, str],
    *,
    taken: Collection[str],
) -> MachineSet:
    """A set that does not exist yet, of no size yet.

    Its name looks random, but the same state of the deployment leads to the same name: if the answer to a creation is
    lost, the next attempt finds what the first one made. `taken` are the names of other sets.
    """
    number = fingerprint(deployment.spec.template.spec)
    after = rollout_after(deployment)
    attempt = 0
    while True:
        seed = f"{deployment.metadata.uid}/{number}/{revisions[REVISION]}/{after}/{attempt}"
        suffix = _suffix(seed)
        name = stem(deployment) + suffix
        if name not in taken:
            break
        attempt += 1
    metadata = ObjectMeta(name=name, finalizers=(FINALIZER,))
    return _wanted(
        deployment,
        limits,
        metadata,
        template=deployment.spec.template,
        template_hash=f"{number}-{suffix}",
        replicas=0,
        annotations={**revisions, DISABLE_MACHINE_CREATE: "false"},
    )


def existing_set(
    deployment: MachineDeployment,
    limits: Limits,
    present: MachineSet,
    revisions: Mapping[str, str],
    *,
    makes_machines: bool,
) -> MachineSet:
    """A set that exists, with its size, and with everything that can be changed in place. Raises NoTemplateHash."""
    template_hash = present.metadata.labels.get(MACHINE_TEMPLATE_HASH)
    if template_hash is None:
        raise NoTemplateHash(
            f"MachineSet {present.metadata.name} has no label {MACHINE_TEMPLATE_HASH}, so its machines cannot be told "
            "apart from others. Add the label to it, to its selector and to its template, or remove its owner."
        )
    metadata = ObjectMeta(
        name=present.metadata.name,
        uid=present.metadata.uid,
        # Those of others, too: what is left out of what is applied is removed.
        finalizers=present.metadata.finalizers,
    )
    return _wanted(
        deployment,
        limits,
        metadata,
        template=present.spec.template,
        template_hash=template_hash,
        replicas=present.spec.replicas or 0,
        annotations={**revisions, DISABLE_MACHINE_CREATE: "false" if makes_machines else "true"},
    )


def stem(deployment: MachineDeployment) -> str:
    """What the names of all its sets begin with."""
    return f"{deployment.metadata.name}-"[: MAXIMUM_LENGTH - RANDOM_LENGTH]


def resized(machine_set: MachineSet, replicas: int) -> MachineSet:
    """The same set with another size."""
    spec = msgspec.structs.replace(machine_set.spec, replicas=replicas)
    return msgspec.structs.replace(machine_set, spec=spec)


def _wanted(
    deployment: MachineDeployment,
    limits: Limits,
    metadata: ObjectMeta,
    *,
    template: MachineTemplate,
    template_hash: str,
    replicas: int,
    annotations: Mapping[str, str],
) -> MachineSet:
    spec = deployment.spec
    machine = spec.template.spec
    labels = {**spec.template.metadata.labels, MACHINE_TEMPLATE_HASH: template_hash}
    selector = LabelSelector(
        match_labels={**spec.selector.match_labels, MACHINE_TEMPLATE_HASH: template_hash},
        match_expressions=spec.selector.match_expressions,
    )
    inherited = {name: value for name, value in deployment.metadata.annotations.items() if name not in _NOT_FOR_SETS}
    return MachineSet(
        metadata=msgspec.structs.replace(
            metadata,
            namespace=deployment.metadata.namespace,
            labels={
                **labels,
                MACHINE_DEPLOYMENT_NAME: deployment.metadata.name,
                # The set would add it itself, by a write more.
                CLUSTER_NAME: spec.cluster_name,
            },
            annotations={
                **inherited,
                DESIRED_REPLICAS: str(limits.replicas),
                MAX_REPLICAS: str(limits.at_most),
                **annotations,
            },
            owner_references=(owners.controller(MACHINE_DEPLOYMENTS, deployment),),
        ),
        spec=MachineSetSpec(
            cluster_name=spec.cluster_name,
            replicas=replicas,
            selector=selector,
            machine_naming=spec.machine_naming if spec.machine_naming.template else _DEFAULTS["machine_naming"],
            deletion=spec.deletion if spec.deletion.order else _DEFAULTS["deletion"],
            template=MachineTemplate(
                metadata=TemplateMetadata(labels=labels, annotations=spec.template.metadata.annotations),
                spec=msgspec.structs.replace(
                    template.spec,
                    min_ready_seconds=machine.min_ready_seconds,
                    readiness_gates=machine.readiness_gates,
                    deletion=machine.deletion,
                    taints=machine.taints,
                ),
            ),
        ),
    )


def _suffix(seed: str) -> str:
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest(), "big")
    letters = []
    for _ in range(RANDOM_LENGTH):
        number, index = divmod(number, len(RANDOM_ALPHABET))
        letters.append(RANDOM_ALPHABET[index])
    return "".join(letters)
