"""Whole clusters of CAPMOX users: what is v1alpha1 is taken as it is, what is v1beta1 after `nagaya convert`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nagaya.api.conversion.convert import convert
from support.subtest_cases import subtest_cases
from unit.api.proxmox.capmox_templates import NEW, OLD, Manifest
from unit.api.proxmox.manifests import problems

TEMPLATES = {
    **{f"{name}-old": each for name, each in OLD.items()},
    **{f"{name}-new": each for name, each in NEW.items()},
}


def judged(objects: Iterator[Manifest] | tuple[Manifest, ...]) -> list[str]:
    return [f"{each['kind']}: {problem}" for each in objects if "spec" in each for problem in problems(each)]


@subtest_cases("name", TEMPLATES)
def test_what_is_of_proxmox_or_has_addresses_is_accepted_as_it_is(name: str) -> None:
    groups = ("infrastructure.cluster.x-k8s.io/", "ipam.cluster.x-k8s.io/")
    theirs = [each for each in TEMPLATES[name] if each["apiVersion"].startswith(groups)]

    assert theirs
    assert judged(iter(theirs)) == []


@subtest_cases("name", TEMPLATES)
def test_nothing_is_lost_when_it_is_converted_and_all_of_it_is_accepted(name: str) -> None:
    made = convert(TEMPLATES[name])

    assert [str(each) for each in made.findings if each.loss] == []
    assert not [each["apiVersion"] for each in made.objects if each["apiVersion"].endswith(("/v1beta1", "/v1alpha1"))]
    assert judged(made.objects) == []


def references(content: Any) -> Iterator[tuple[str, str, str]]:
    """What an object refers to: group, kind and name."""
    if isinstance(content, dict):
        if {"kind", "name"} <= content.keys() and ("apiVersion" in content or "apiGroup" in content):
            group = content.get("apiGroup") or content["apiVersion"].rpartition("/")[0]
            yield group, content["kind"], content["name"]
        for each in content.values():
            yield from references(each)
    elif isinstance(content, list):
        for each in content:
            yield from references(each)


@subtest_cases("name", OLD)
def test_references_lead_where_they_led(name: str) -> None:
    for before, after in zip(OLD[name], convert(OLD[name]).objects, strict=True):
        assert set(references(after.get("spec"))) == set(references(before.get("spec")))


def test_patches_of_a_class_go_on_speaking_of_the_version_they_were_written_for() -> None:
    (made,) = [each for each in convert(OLD["class"]).objects if each["kind"] == "ClusterClass"]
    spec = made["spec"]
    selected = [definition["selector"] for patch in spec["patches"] for definition in patch["definitions"]]
    used = [
        spec["infrastructure"]["templateRef"],
        spec["controlPlane"]["machineInfrastructure"]["templateRef"],
        spec["workers"]["machineDeployments"][0]["infrastructure"]["templateRef"],
    ]

    assert {each["apiVersion"] for each in [*selected, *used]} == {"infrastructure.cluster.x-k8s.io/v1alpha1"}
