"""A set of old manifests, converted together, because they refer to each other.

A MachineClass becomes one template; every MachineSet and MachineDeployment that referred to the class refers to that
template. A Machine needs an object of its own, so it gets a copy of the class that says where it was copied from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from nagaya.api.cluster import labels
from nagaya.api.cluster.annotations import CLONED_FROM_GROUP_KIND, CLONED_FROM_NAME
from nagaya.api.conversion.draft import Draft
from nagaya.api.conversion.finding import Finding, subject_of
from nagaya.api.conversion.v1alpha1.infrastructure import Infrastructure
from nagaya.api.conversion.v1alpha1.metadata import place, renewed_keys, renewed_metadata
from nagaya.api.conversion.v1alpha1.nodes import BOOTSTRAP_GROUP, NodeWishes
from nagaya.api.conversion.v1beta1.machines import rollout_strategy, unused_deployment_fields

CLUSTER_VERSION: Final = "cluster.x-k8s.io/v1beta2"
_CAPACITY: Final = (
    "not carried over: it told autoscalers what a machine offers. Set the annotations "
    "capacity.cluster-autoscaler.kubernetes.io/cpu and .../memory on MachineDeployments that scale from zero."
)
_NO_CONTROL_PLANE: Final = (
    "old clusters had none. Refer to a control plane here, such as a KubeadmControlPlane, or keep its Machines."
)
_WORKERS_ONLY: Final = "not carried over: a {kind} makes workers only. Add a KubeadmControlPlane for these machines."
_NO_SETTINGS: Final = "there are no settings of a provider: add an object of your provider and refer to it here."
Object = dict[str, Any]


class Legacy:
    """The old manifests of one conversion."""

    def __init__(
        self, source: Iterable[Mapping[str, Any]], findings: list[Finding], infrastructure: Infrastructure
    ) -> None:
        self._findings = findings
        self._infrastructure = infrastructure
        old = [each for each in source if str(each.get("apiVersion", "")).startswith("cluster.k8s.io/")]
        self._classes = {_key(each): _settings_of_class(each) for each in old if each["kind"] == "MachineClass"}
        self._clusters = [_key(each) for each in old if each["kind"] == "Cluster"]
        self._made_names = {
            (infrastructure.kind(settings, "MachineTemplate"), *key) for key, settings in self._classes.items()
        }

    def convert(self, content: Object) -> Iterator[Object]:
        """What one old object becomes: first the objects that it refers to, then itself. The source is used up."""
        draft = Draft(content, self._findings, subject_of(content), _key(content)[0])
        metadata = renewed_metadata(draft)
        if content["kind"] == "MachineClass":
            yield self._machine_class(draft, metadata)
            return
        draft.drop_rest("apiVersion", "kind", "spec")
        spec = draft.open("spec")
        if content["kind"] == "Cluster":
            yield from self._cluster(spec, metadata)
        elif content["kind"] == "Machine":
            yield from self._machine(spec, metadata)
        else:
            yield from self._group(spec, metadata, content["kind"])

    def _machine_class(self, draft: Draft, metadata: Object) -> Object:
        for name in ("capacity", "allocatable"):
            draft.drop(name, _CAPACITY)
        name = "providerSpec" if "providerSpec" in draft.content else "providerConfig"
        draft.drop_rest("apiVersion", "kind", name)
        return self._made(draft, name, _settings_of_class(draft.content), "MachineTemplate", metadata)

    def _cluster(self, spec: Draft, metadata: Object) -> Iterator[Object]:
        name, settings, _ = _take_settings(spec)
        if settings is not None:
            made = self._made(spec, name, settings, "Cluster", place(metadata))
            yield made
            spec.put(self._infrastructure.reference(made), "infrastructureRef")
        spec.report("controlPlaneRef", _NO_CONTROL_PLANE, loss=False)
        yield {"apiVersion": CLUSTER_VERSION, "kind": "Cluster", "metadata": metadata, "spec": spec.content}

    def _machine(self, spec: Draft, metadata: Object) -> Iterator[Object]:
        wishes = NodeWishes(spec)
        if wishes.control_plane:
            wishes.machine_labels[labels.CONTROL_PLANE] = ""
        yield from self._infrastructure_of(spec, metadata, "Machine", "Machine")
        config = wishes.bootstrap(spec, place(metadata), template=False)
        yield config
        _refer_to_bootstrap(spec, config)
        spec.put(self._cluster_name(spec, metadata), "clusterName")
        _add(metadata, "labels", wishes.machine_labels)
        _add(metadata, "annotations", wishes.machine_annotations)
        yield {"apiVersion": CLUSTER_VERSION, "kind": "Machine", "metadata": metadata, "spec": spec.content}

    def _group(self, spec: Draft, metadata: Object, kind: str) -> Iterator[Object]:
        machine = spec.open("template", "spec")
        of_template = spec.open("template").take_pairs("metadata")
        template_metadata = {name: renewed_keys(_pairs(of_template, name)) for name in ("labels", "annotations")}
        for name in sorted(of_template.keys() - {"labels", "annotations", "creationTimestamp"}):
            spec.report(
                f"template.metadata.{name}", "not carried over: templates have labels and annotations.", loss=True
            )
        selector = spec.at("selector", "matchLabels")
        if selector is not None:
            spec.put(renewed_keys(selector.content), "selector", "matchLabels")
        wishes = NodeWishes(machine)
        if wishes.control_plane:
            machine.report("versions.controlPlane", _WORKERS_ONLY.format(kind=kind), loss=True)
            wishes.control_plane = False
        yield from self._infrastructure_of(machine, metadata, "MachineTemplate", kind)
        name = self._free_name("KubeadmConfigTemplate", metadata, kind)
        template = wishes.bootstrap(machine, place(metadata, name), template=True)
        yield template
        _refer_to_bootstrap(machine, template)
        cluster = self._cluster_name(machine, {"labels": {**_pairs(metadata, "labels"), **template_metadata["labels"]}})
        spec.put(cluster, "clusterName")
        machine.put(cluster, "clusterName")
        _add(template_metadata, "labels", wishes.machine_labels)
        _add(template_metadata, "annotations", wishes.machine_annotations)
        kept = {name: pairs for name, pairs in template_metadata.items() if pairs}
        spec.put({"metadata": kept, **spec.open("template").content}, "template")
        spec.move("minReadySeconds", "template", "spec", "minReadySeconds")
        spec.move("deletePolicy", "deletion", "order")
        if kind == "MachineDeployment":
            rollout_strategy(spec, "remediation")
            unused_deployment_fields(spec)
        yield {"apiVersion": CLUSTER_VERSION, "kind": kind, "metadata": metadata, "spec": spec.content}

    def _free_name(self, made: str, metadata: Mapping[str, Any], owner: str) -> str:
        """A name for something that is made for another object: that object's own, unless it is taken."""
        namespace, name = str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
        if (made, namespace, name) in self._made_names:
            name = f"{name}-{owner.lower()}"
        self._made_names.add((made, namespace, name))
        return name

    def _infrastructure_of(self, spec: Draft, metadata: Object, noun: str, owner: str) -> Iterator[Object]:
        """The infrastructure of a machine spec, which is made to refer to it. Nothing is made for a shared template."""
        name, settings, class_name = _take_settings(spec)
        if settings is not None:
            free = self._free_name(self._infrastructure.kind(settings, noun), metadata, owner)
            made = self._made(spec, name, settings, noun, place(metadata, free))
            yield made
            spec.put(self._infrastructure.reference(made), "infrastructureRef")
            return
        if class_name is None:
            spec.report("infrastructureRef", _NO_SETTINGS, loss=True)
            return
        shared = self._classes.get((spec.namespace, class_name))
        if shared is None:
            message = (
                f"MachineClass {class_name} is not among the manifests: convert it together with those that use it."
            )
            spec.report(f"{name}.valueFrom.machineClass", message, loss=True)
        template = self._infrastructure.made(shared or {}, "MachineTemplate", place(metadata, class_name))
        if noun == "MachineTemplate":
            spec.put(self._infrastructure.reference(template), "infrastructureRef")
            return
        copied = self._infrastructure.made(shared or {}, noun, place(metadata))
        group = self._infrastructure.reference(template)["apiGroup"]
        copied["metadata"]["annotations"] = {
            CLONED_FROM_NAME: class_name,
            CLONED_FROM_GROUP_KIND: f"{template['kind']}.{group}",
        }
        yield copied
        spec.put(self._infrastructure.reference(copied), "infrastructureRef")

    def _made(self, draft: Draft, name: str, settings: Mapping[str, Any], noun: str, metadata: Object) -> Object:
        made = self._infrastructure.made(settings, noun, metadata)
        title = f"{made['kind']} {made['metadata'].get('name')}"
        if self._infrastructure.known(settings):
            message = f"moved into {title} as it was: compare its fields with those of the provider's present version."
            draft.report(name, message, loss=False)
        else:
            message = f"moved into {title}, because it does not say which provider it is for: name it with --provider."
            draft.report(name, message, loss=True)
        return made

    def _cluster_name(self, spec: Draft, metadata: Mapping[str, Any]) -> str | None:
        """Which cluster a machine is of: as its first version said, as its label says, or the only one there is."""
        reference = spec.take_map("clusterRef")
        named = (reference.content.get("name") if reference is not None else None) or spec.content.get("clusterName")
        labelled = _pairs(metadata, "labels").get(labels.CLUSTER_NAME)
        here = [name for namespace, name in self._clusters if namespace == spec.namespace]
        found = named or labelled or (here[0] if len(here) == 1 else None)
        return str(found) if found else None


def _take_settings(spec: Draft) -> tuple[str, Object | None, str | None]:
    """Settings of the infrastructure: the field that they were in, and themselves or the class that has them."""
    name = "providerSpec" if "providerSpec" in spec.content else "providerConfig"
    holder = spec.take_map(name)
    if holder is None:
        return name, None, None
    holder.drop_rest("value", "valueFrom")
    value = holder.content.get("value")
    if isinstance(value, dict):
        return name, value, None
    reference = holder.at("valueFrom", "machineClass")
    return name, None, None if reference is None else str(reference.content.get("name") or "")


def _settings_of_class(content: Mapping[str, Any]) -> Object:
    settings = content.get("providerSpec") or content.get("providerConfig") or {}
    if isinstance(settings, dict) and set(settings) == {"value"}:
        settings = settings["value"]  # some providers wrapped it as in Machines
    return settings if isinstance(settings, dict) else {}


def _refer_to_bootstrap(spec: Draft, config: Mapping[str, Any]) -> None:
    reference = {"apiGroup": BOOTSTRAP_GROUP, "kind": config["kind"], "name": config["metadata"]["name"]}
    spec.put(reference, "bootstrap", "configRef")


def _add(metadata: Object, name: str, pairs: Mapping[str, str]) -> None:
    if pairs:
        metadata[name] = {**_pairs(metadata, name), **pairs}


def _pairs(metadata: Mapping[str, Any], name: str) -> Object:
    """Labels or annotations, none if they are not there."""
    found = metadata.get(name)
    return found if isinstance(found, dict) else {}


def _key(content: Mapping[str, Any]) -> tuple[str, str]:
    metadata = content.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")
