from __future__ import annotations

from nagaya.api.kind import Kind
from nagaya.api.meta import ObjectMeta, OwnerReference
from nagaya.api.untyped import Untyped
from nagaya.kube.cache.change import Change
from nagaya.kube.key import Key
from nagaya.kube.mapping import any_owner, itself, label, owner
from support.crates import Crate

SETS = Kind("cluster.x-k8s.io", "v1beta2", "MachineSet", "machinesets", Untyped)
SITES = Kind("example.com", "v1", "Site", "sites", Untyped, namespaced=False)


def owned(*owners: tuple[str, str, str, bool], **labels: str) -> Crate:
    """Owners are given by apiVersion, kind, name, and whether they control."""
    references = tuple(
        OwnerReference(api_version=version, kind=kind, name=name, uid=name, controller=controls)
        for version, kind, name, controls in owners
    )
    return Crate(metadata=ObjectMeta(name="a", namespace="n", owner_references=references, labels=labels))


def test_the_controlling_owner_is_found_whatever_version_it_was_written_in() -> None:
    obj = owned(
        ("cluster.x-k8s.io/v1beta1", "MachineSet", "ours", True),
        ("cluster.x-k8s.io/v1beta2", "MachineSet", "other", False),
        ("apps/v1", "MachineSet", "foreign", True),
        ("cluster.x-k8s.io/v1beta2", "Cluster", "cluster", True),
    )
    assert [*owner(SETS)(Change(None, obj))] == [Key("n", "ours")]
    assert [*any_owner(SETS)(Change(None, obj))] == [Key("n", "ours"), Key("n", "other")]


def test_an_object_that_changed_hands_is_news_for_both() -> None:
    before = owned(("cluster.x-k8s.io/v1beta2", "MachineSet", "old", True))
    after = owned(("cluster.x-k8s.io/v1beta2", "MachineSet", "new", True))
    assert [*owner(SETS)(Change(before, after))] == [Key("n", "new"), Key("n", "old")]
    assert [*owner(SETS)(Change(after, None))] == [Key("n", "new")]


def test_an_owner_that_is_in_no_namespace_has_a_key_without_one() -> None:
    obj = owned(("example.com/v1", "Site", "here", True))
    assert [*owner(SITES)(Change(None, obj))] == [Key("", "here")]


def test_a_label_names_an_object_in_the_same_namespace() -> None:
    before, after = owned(cluster="one"), owned(cluster="two")
    assert [*label("cluster")(Change(before, after))] == [Key("n", "two"), Key("n", "one")]
    assert [*label("cluster")(Change(None, owned()))] == []


def test_an_object_means_itself_also_when_it_is_gone() -> None:
    assert [*itself(Change(owned(), None))] == [Key("n", "a")]


def test_mappings_that_say_the_same_are_equal() -> None:
    assert owner(SETS) == owner(SETS)
    assert owner(SETS) != any_owner(SETS)
    assert label("a") == label("a")
    assert len({label("a"), label("a"), label("b")}) == 2
