"""Golden files: each manifest in testdata with what it becomes and what is said about it.

After a change that is meant: nagaya convert -f X.yaml > X.converted.yaml 2> X.findings.txt
"""

from __future__ import annotations

import copy
import itertools
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nagaya.api import catalog, crd
from nagaya.api.conversion import manifests, v1alpha1, v1beta1
from nagaya.api.conversion.convert import convert
from nagaya.api.conversion.v1alpha1.infrastructure import Infrastructure
from nagaya.apiserver.cel.crd_rules import compile_rules
from nagaya.apiserver.crd import schema
from nagaya.apiserver.crd.validate import Validator
from support.subtest_cases import subtest_cases

TESTDATA = Path(__file__).parent / "testdata"
SOURCES = sorted(path for path in TESTDATA.glob("*/*.yaml") if not path.name.endswith(".converted.yaml"))


def read(path: Path) -> list[dict[str, Any]]:
    return manifests.read(path.read_text(), path.name)


@cache
def validators() -> dict[tuple[str, str], Validator]:
    definitions = (definition for part in catalog.PARTS.values() for definition in part)
    return {
        (each.kind.api_version, each.kind.kind): Validator(schema.read(crd.schema(each)), compile_rules)
        for each in definitions
    }


def only(*objects: dict[str, Any]) -> dict[str, Any]:
    (converted,) = convert(objects).objects
    return converted


def machine(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "metadata": {"name": "m"}, "spec": spec}


@subtest_cases("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_manifests_become_what_the_golden_files_say(path: Path) -> None:
    result = convert(read(path))
    assert manifests.write(result.objects) == path.with_suffix(".converted.yaml").read_text()
    said = "".join(f"{'lost' if finding.loss else 'note'}: {finding}\n" for finding in result.findings)
    assert said == path.with_suffix(".findings.txt").read_text()


@subtest_cases("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_converting_twice_changes_nothing(path: Path) -> None:
    once = convert(read(path)).objects
    twice = convert(once)
    assert twice.objects == once
    assert {finding.path for finding in twice.findings} <= {"apiVersion"}  # versions that were left as they are


@subtest_cases("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_source_is_left_alone(path: Path) -> None:
    source = read(path)
    before = copy.deepcopy(source)
    convert(source)
    assert source == before


@subtest_cases("path", SOURCES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_what_comes_out_fits_the_schemas(path: Path) -> None:
    result = convert(read(path))
    incomplete = {finding.subject for finding in result.findings if finding.message.startswith("missing")}
    checked = 0
    for each in result.objects:
        validator = validators().get((each["apiVersion"], each["kind"]))
        subject = f"{each['kind']} {each['metadata'].get('namespace')}/{each['metadata']['name']}"
        if validator is not None and subject not in incomplete:
            assert validator.validate(each) == []
            checked += 1
    assert checked


def test_objects_of_other_apis_pass_through_as_they_are() -> None:
    foreign = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"paused": None}}
    assert only(foreign) == foreign
    assert convert([foreign]).findings == ()


def test_a_field_that_nobody_knows_is_reported_and_left_out() -> None:
    result = convert([machine(clusterName="c", bootstrap={}, infrastructureRef={}, colour="blue")])
    assert "colour" not in result.objects[0]["spec"]
    assert [finding.path for finding in result.findings if "no such field" in finding.message] == ["spec.colour"]
    assert not result.lossless


def test_a_cut_duration_is_reported_with_what_it_became() -> None:
    spec = {"clusterName": "c", "bootstrap": {"dataSecretName": "s"}, "nodeDrainTimeout": "90500ms"}
    reference = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "K", "name": "n"}
    result = convert([machine(**spec, infrastructureRef=reference)])
    assert result.objects[0]["spec"]["deletion"] == {"nodeDrainTimeoutSeconds": 90}
    assert "90500ms became 90 s" in str(result.findings[0])


def test_a_duration_that_is_none_is_reported_and_not_guessed() -> None:
    result = convert([machine(nodeDrainTimeout="soon"), machine(nodeDrainTimeout=5)])
    assert all("deletion" not in each["spec"] for each in result.objects)
    assert sum("is not a duration" in finding.message for finding in result.findings) == 2


def test_conversion_data_of_a_server_points_to_a_better_source() -> None:
    source = machine()
    source["metadata"]["annotations"] = {"cluster.x-k8s.io/conversion-data": "{}", "kept": "yes"}
    result = convert([source])
    assert result.objects[0]["metadata"]["annotations"] == {"kept": "yes"}
    assert any("needs no conversion" in finding.message for finding in result.findings)


def test_all_that_refer_to_a_machine_class_share_one_template() -> None:
    objects = convert(read(TESTDATA / "v1alpha1" / "shared-class.yaml")).objects
    templates = [each for each in objects if each["kind"] == "AWSMachineTemplate"]
    references = [
        each["spec"]["template"]["spec"]["infrastructureRef"]
        for each in objects
        if each["kind"] in ("MachineDeployment", "MachineSet")
    ]
    assert [each["metadata"]["name"] for each in templates] == ["big"]
    assert len(references) == 2
    assert (
        references[0]
        == references[1]
        == {
            "apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "AWSMachineTemplate",
            "name": "big",
        }
    )


def test_the_provider_can_be_named() -> None:
    proxmox = Infrastructure("infrastructure.cluster.x-k8s.io/v1alpha2", "Proxmox")
    objects = convert(read(TESTDATA / "v1alpha1" / "inline.yaml"), proxmox).objects
    made = {each["kind"] for each in objects if each["apiVersion"] == proxmox.api_version}
    assert made == {"ProxmoxMachine", "ProxmoxMachineTemplate"}


def test_made_objects_do_not_take_each_others_names() -> None:
    inline = {"providerSpec": {"value": {"kind": "AWSMachineProviderSpec", "size": 1}}}
    old = [
        {"apiVersion": "cluster.k8s.io/v1alpha1", "kind": kind, "metadata": {"name": "same"}, **content}
        for kind, content in (
            ("MachineClass", {"providerSpec": {"kind": "AWSMachineProviderSpec"}}),
            ("MachineSet", {"spec": {"template": {"spec": inline}}}),
            ("MachineDeployment", {"spec": {"template": {"spec": inline}}}),
        )
    ]
    objects = convert(old).objects
    identities = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(identities) == len(set(identities)) == 7
    for each in objects:
        if each["kind"] in ("MachineSet", "MachineDeployment"):
            for reference in (
                each["spec"]["template"]["spec"]["infrastructureRef"],
                each["spec"]["template"]["spec"]["bootstrap"]["configRef"],
            ):
                assert (reference["kind"], reference["name"]) in identities


def test_control_planes_do_not_come_from_sets() -> None:
    spec = {"template": {"spec": {"versions": {"kubelet": "1.9.4", "controlPlane": "1.9.4"}}}}
    result = convert([{"apiVersion": "cluster.k8s.io/v1alpha1", "kind": "MachineSet", "metadata": {}, "spec": spec}])
    assert any("makes workers only" in finding.message for finding in result.findings)
    assert all("controlPlane" not in str(each) for each in result.objects)


@subtest_cases(
    ("version", "kind", "spec"),
    itertools.product(
        ["cluster.x-k8s.io/v1beta1", "cluster.k8s.io/v1alpha1"],
        ["Cluster", "Machine", "MachineSet", "MachineDeployment", "MachineClass"],
        [None, [], "text", {"template": None}, {"template": {"spec": []}}, {"strategy": 3}, {"bootstrap": "x"}],
    ),
)
def test_malformed_objects_are_converted_as_far_as_possible(version: str, kind: str, spec: Any) -> None:
    result = convert([{"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}])
    assert result.objects


def names(value: Any) -> set[str]:
    """All names of fields in a value."""
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {name for each in below for name in names(each)} | (set(value) if isinstance(value, dict) else set())


WORDS = st.sampled_from(sorted({name for path in SOURCES for each in read(path) for name in names(each)}))
SCALARS = st.none() | st.booleans() | st.integers(0, 3) | WORDS
JSON = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=2) | st.dictionaries(WORDS, below, max_size=4), max_leaves=25
)
KINDS = [("cluster.k8s.io/v1alpha1", kind) for kind in v1alpha1.KINDS] + [
    (f"{group}/{v1beta1.VERSIONS[group][0]}", kind) for group, kind in v1beta1.KINDS
]


@settings(max_examples=50, deadline=None)  # the first look at a kind makes its schema
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(["metadata", "spec", "providerSpec"]), JSON))
def test_no_content_is_too_odd(identity: tuple[str, str], content: dict[str, Any]) -> None:
    result = convert([{"apiVersion": identity[0], "kind": identity[1], **content}])
    assert result.objects
    assert convert(result.objects).objects == result.objects
