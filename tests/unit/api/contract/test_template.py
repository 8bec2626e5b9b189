"""Objects cloned from templates."""

from typing import Any

from nagaya.api.contract.template import clone
from nagaya.api.meta import OwnerReference
from nagaya.api.untyped import Untyped

OWNER = OwnerReference(api_version="cluster.x-k8s.io/v1beta2", kind="MachineSet", name="ms", uid="u", controller=True)


def template(**spec: Any) -> Untyped:
    return Untyped(
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "DevMachineTemplate",
            "metadata": {"name": "workers", "namespace": "team", "uid": "t", "finalizers": ["keep"]},
            "spec": spec,
        }
    )


def test_a_clone_has_the_templates_content_and_remembers_where_it_came_from() -> None:
    inner = {"metadata": {"labels": {"a": "1"}, "annotations": {"n": "1"}}, "spec": {"cpus": 2}}
    made = clone(template(template=inner), name="ms-x1", cluster="demo", owner=OWNER, labels={"b": "2"})
    assert made.raw == {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "DevMachine",
        "metadata": {
            "name": "ms-x1",
            "namespace": "team",
            "labels": {"a": "1", "b": "2", "cluster.x-k8s.io/cluster-name": "demo"},
            "annotations": {
                "n": "1",
                "cluster.x-k8s.io/cloned-from-name": "workers",
                "cluster.x-k8s.io/cloned-from-groupkind": "DevMachineTemplate.infrastructure.cluster.x-k8s.io",
            },
            "ownerReferences": [
                {
                    "apiVersion": "cluster.x-k8s.io/v1beta2",
                    "kind": "MachineSet",
                    "name": "ms",
                    "uid": "u",
                    "controller": True,
                }
            ],
        },
        "spec": {"cpus": 2},
    }


def test_a_clone_belongs_to_its_cluster_whatever_the_template_says() -> None:
    inner = {"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "other"}}}
    made = clone(template(template=inner), name="a", cluster="demo", owner=OWNER)
    assert made.metadata.labels["cluster.x-k8s.io/cluster-name"] == "demo"


def test_a_template_without_content_makes_an_object_without_content() -> None:
    made = clone(template(), name="a", cluster="demo", owner=OWNER)
    assert "spec" not in made.raw
    assert made.kind == "DevMachine"


def test_the_template_is_left_as_it_was() -> None:
    source = template(template={"spec": {"cpus": 2}})
    before = repr(source.raw)
    clone(source, name="a", cluster="demo", owner=OWNER)
    assert repr(source.raw) == before
