"""The tables of facts become schema types."""

from __future__ import annotations

import pytest

from nagaya.apiserver.builtins import facts
from nagaya.apiserver.builtins.gotypes import GoField, GoList, GoMap, GoScalar, GoStruct, GoUntyped
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.schema.types import MISSING, Field, List, ListKind, Map, Omit, Struct, Type
from support.subtest_cases import subtest_cases

POD = facts.struct_of(GroupVersionKind("", "v1", "Pod"))


def field(struct: str, name: str) -> GoField:
    found = facts.struct_of(struct).fields[name]
    assert isinstance(found, GoField)
    return found


def walk(kind: Type, seen: dict[str, GoStruct]) -> None:
    if isinstance(kind, (List, Map)):
        walk(kind.element, seen)
    elif isinstance(kind, Struct):
        assert isinstance(kind, GoStruct)
        if kind.key not in seen:
            seen[kind.key] = kind
            for each in kind.fields.values():
                walk(each.type, seen)


def test_every_kind_can_be_walked_to_its_leaves() -> None:
    seen: dict[str, GoStruct] = {}
    for kind in facts.kinds():
        walk(facts.struct_of(kind), seen)
    assert len(seen) > 500
    leaves = [each.type for struct in seen.values() for each in struct.fields.values()]
    assert {type(leaf) for leaf in leaves} == {GoScalar, GoStruct, GoList, GoMap, GoUntyped}


def test_structs_are_constants() -> None:
    assert facts.struct_of(GroupVersionKind("", "v1", "Pod")) is POD
    assert POD.fields["spec"].type is facts.struct_of("core/v1.PodSpec")


def test_a_struct_may_contain_itself() -> None:
    schema = facts.struct_of("apiextensions/v1.JSONSchemaProps")
    properties = schema.fields["properties"].type
    assert isinstance(properties, Map)
    assert properties.element is schema


def test_names_are_gos() -> None:
    assert (POD.name, POD.short_name, POD.key) == ("v1.Pod", "Pod", "core/v1.Pod")
    labels = field("meta/v1.ObjectMeta", "labels").type
    assert isinstance(labels, GoMap)
    assert labels.go == "map[string]string"
    limits = field("core/v1.ResourceRequirements", "limits").type
    assert isinstance(limits, GoMap)
    assert limits.go == "v1.ResourceList"
    containers = field("core/v1.PodSpec", "containers").type
    assert isinstance(containers, GoList)
    assert containers.go == "[]v1.Container"


def test_merge_rules_are_known() -> None:
    ports = field("core/v1.ServiceSpec", "ports")
    assert isinstance(ports.type, List)
    assert (ports.type.kind, ports.type.keys) == (ListKind.MAP, ("port", "protocol"))
    assert (ports.patch_strategy, ports.merge_key) == (frozenset({"merge"}), "port")
    assert field("core/v1.ServicePort", "protocol").default == "TCP"
    assert field("core/v1.ServicePort", "name").default is MISSING
    finalizers = field("meta/v1.ObjectMeta", "finalizers").type
    assert isinstance(finalizers, List)
    assert finalizers.kind is ListKind.SET
    volumes = field("core/v1.PodSpec", "volumes")
    assert volumes.patch_strategy == {"merge", "retainKeys"}
    selector = field("core/v1.ServiceSpec", "selector").type
    assert isinstance(selector, Map)
    assert selector.atomic
    assert facts.struct_of("meta/v1.LabelSelector").atomic
    tolerations = field("core/v1.PodSpec", "tolerations").type
    assert isinstance(tolerations, List)
    assert tolerations.kind is ListKind.ATOMIC


def test_encoding_rules_are_known() -> None:
    replicas = field("apps/v1.DeploymentSpec", "replicas")
    assert (replicas.number, replicas.pointer, replicas.omit) == (1, True, Omit.EMPTY)
    assert field("rbac/v1.Role", "rules").omit is Omit.NEVER
    assert field("meta/v1.ObjectMeta", "creationTimestamp").omit is Omit.ZERO
    assert field("core/v1.PodSpec", "containers").required
    empty_dir = field("core/v1.Volume", "emptyDir")
    assert (empty_dir.via, empty_dir.via_numbers, empty_dir.number) == (("VolumeSource",), (2,), 2)
    nested = field("admissionregistration/v1.NamedRuleWithOperations", "apiGroups")
    assert (nested.via, nested.via_numbers) == (("RuleWithOperations", "Rule"), (2, 2))
    kind = field("core/v1.Pod", "kind")
    assert (kind.via, kind.number) == (("TypeMeta",), 0)


@subtest_cases(
    ("struct", "name", "scalar", "form"),
    [
        ("core/v1.Container", "image", "string", ""),
        ("core/v1.ContainerPort", "containerPort", "integer", "int32"),
        ("meta/v1.ObjectMeta", "generation", "integer", "int64"),
        ("meta/v1.ObjectMeta", "deletionTimestamp", "string", "date-time"),
        ("coordination/v1.LeaseSpec", "renewTime", "string", "micro-time"),
        ("core/v1.EmptyDirVolumeSource", "sizeLimit", "string", "quantity"),
        ("core/v1.HTTPGetAction", "port", "int-or-string", ""),
        ("certificates/v1.CertificateSigningRequestSpec", "request", "string", "byte"),
        ("apiextensions/v1.JSONSchemaProps", "maximum", "number", "double"),
    ],
)
def test_scalars_have_the_form_of_their_go_type(struct: str, name: str, scalar: str, form: str) -> None:
    found = field(struct, name).type
    assert isinstance(found, GoScalar)
    assert (found.name, found.format) == (scalar, form)


def test_no_protobuf_number_is_given_twice_in_a_message() -> None:
    seen: dict[str, GoStruct] = {}
    for kind in facts.kinds():
        walk(facts.struct_of(kind), seen)
    for struct in seen.values():
        numbers = [(each.via_numbers, each.number) for each in map(_go, struct.fields.values()) if each.number]
        assert len(numbers) == len(set(numbers)), struct.key


def _go(found: Field) -> GoField:
    assert isinstance(found, GoField)
    return found


def test_kinds_of_all_groups_are_found_in_each() -> None:
    options = facts.struct_of(GroupVersionKind("apps", "v1", "DeleteOptions"))
    assert options is facts.struct_of(GroupVersionKind("", "v1", "DeleteOptions"))


def test_unknown_kinds_are_told_apart() -> None:
    assert facts.is_known_kind(GroupVersionKind("apps", "v1", "Deployment"))
    assert not facts.is_known_kind(GroupVersionKind("apps", "v1beta1", "Deployment"))
    with pytest.raises(KeyError):
        facts.struct_of(GroupVersionKind("", "v1", "Teapot"))
