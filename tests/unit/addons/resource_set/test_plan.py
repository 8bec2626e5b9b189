from __future__ import annotations

from typing import Any

import pytest

from nagaya.addons.resource_set.binding import new_binding, only_of, recorded, without
from nagaya.addons.resource_set.contents import Content
from nagaya.addons.resource_set.errands import Returned
from nagaya.addons.resource_set.plan import Errand, plan
from nagaya.addons.resource_set.seen import Resource, Seen, Site
from nagaya.addons.resource_set.status import resources_applied, status
from nagaya.api.addons.cluster_resource_set import CLUSTER_RESOURCE_SETS, ClusterResourceSet, ResourceRef
from nagaya.api.addons.cluster_resource_set_binding import (
    CLUSTER_RESOURCE_SET_BINDINGS,
    ClusterResourceSetBinding,
    ResourceBinding,
)
from support.builders import CLUSTER, NAMESPACE, NOW, Draft, cluster

OLD, NEW = Content((("a", b"old"),)), Content((("a", b"new"),))
MAPS = ResourceRef(kind="ConfigMap", name="maps")
DONE = Returned((), 0)


def resource_set(name: str = "cni", strategy: str = "", uid: str = "1") -> ClusterResourceSet:
    spec: dict[str, Any] = {"clusterSelector": {}, "resources": [{"kind": "ConfigMap", "name": "maps"}]}
    metadata = {"namespace": NAMESPACE, "name": name, "uid": f"{name}-{uid}", "generation": 2}
    return Draft(CLUSTER_RESOURCE_SETS, {"metadata": metadata, "spec": {**spec, "strategy": strategy}}).made()


def record(owner: ClusterResourceSet, *brought: ResourceBinding) -> ClusterResourceSetBinding:
    site = Site(cluster().made(), None, True)
    return CLUSTER_RESOURCE_SET_BINDINGS.convert(new_binding(site.key, owner, brought))


def brought(content: Content = OLD, *, applied: bool = True, name: str = "maps") -> ResourceBinding:
    return ResourceBinding(kind="ConfigMap", name=name, hash=content.hash, last_applied_time=NOW, applied=applied)


def seen(
    owner: ClusterResourceSet,
    binding: ClusterResourceSetBinding | None = None,
    content: Content | None = NEW,
    *,
    connected: bool = True,
) -> Seen:
    return Seen(owner, (Resource(MAPS, content),), (Site(cluster().made(), binding, connected),))


def loads(errands: tuple[Errand, ...]) -> list[str]:
    return [load.reference.name for errand in errands for load in errand.loads]


@pytest.mark.parametrize("strategy", ["", "ApplyOnce", "Reconcile"])
def test_a_new_cluster_gets_everything(strategy: str) -> None:
    assert loads(plan(seen(resource_set(strategy=strategy))).errands) == ["maps"]


@pytest.mark.parametrize(
    ("strategy", "noted", "again"),
    [
        ("ApplyOnce", brought(OLD), False),
        ("ApplyOnce", brought(NEW), False),
        ("ApplyOnce", brought(NEW, applied=False), True),
        ("", brought(OLD), False),
        ("Reconcile", brought(OLD), True),
        ("Reconcile", brought(NEW), False),
        ("Reconcile", brought(NEW, applied=False), True),
    ],
)
def test_what_is_on_record_is_brought_again_as_the_strategy_says(
    strategy: str, noted: ResourceBinding, again: bool
) -> None:
    owner = resource_set(strategy=strategy)
    assert bool(plan(seen(owner, record(owner, noted))).errands) is again


def test_a_cluster_that_cannot_be_reached_is_put_on_record_only() -> None:
    owner = resource_set()
    look = seen(owner, connected=False)
    found = plan(look)
    assert [errand.loads for errand in found.errands] == [()]
    assert found.obstacles == (f"Cluster {NAMESPACE}/{CLUSTER} cannot be reached at present.",)
    assert plan(seen(owner, record(owner), connected=False)).errands == ()


def test_without_clusters_there_is_nothing_to_do_and_nothing_to_say() -> None:
    look = Seen(resource_set(), (), ())
    assert plan(look).errands == ()
    assert resources_applied(look, plan(look), DONE) is None
    told = status(look, plan(look), DONE, NOW)
    assert [each.type for each in told.conditions] == ["Paused"]
    assert told.observed_generation == 2


@pytest.mark.parametrize(
    ("content", "connected", "returned", "words"),
    [
        (NEW, True, DONE, "True Applied"),
        (NEW, True, Returned((ValueError("no"),), 0), "False NotApplied"),
        (NEW, False, DONE, "False InternalError"),
        (None, True, DONE, "False InternalError"),
        (Content(wrong_type=True, problem="x"), True, DONE, "False WrongSecretType"),
    ],
)
def test_true_means_that_all_clusters_have_everything(
    content: Content | None, connected: bool, returned: Returned, words: str
) -> None:
    look = seen(resource_set(), None, content, connected=connected)
    found = resources_applied(look, plan(look), returned)
    assert found is not None
    assert f"{found.status} {found.reason}" == words


def test_while_an_errand_is_under_way_the_last_word_stands() -> None:
    look = seen(resource_set())
    assert resources_applied(look, plan(look), Returned((), 1)) is None


def test_a_record_keeps_the_entries_and_owners_of_other_sets() -> None:
    first, second = resource_set("first"), resource_set("second")
    binding = record(first, brought())
    change = recorded(binding, second, [brought(NEW)])
    assert change is not None
    assert [each["clusterResourceSetName"] for each in change["spec"]["bindings"]] == ["first", "second"]
    assert [each["name"] for each in change["metadata"]["ownerReferences"]] == ["first", "second"]
    assert not only_of(CLUSTER_RESOURCE_SET_BINDINGS.convert({**_content(binding), "spec": _spec(change)}), first)


def test_a_resource_is_on_record_once_with_the_last_word_about_it() -> None:
    owner = resource_set()
    change = recorded(record(owner, brought(name="other"), brought()), owner, [brought(NEW, applied=False)])
    assert change is not None
    resources = change["spec"]["bindings"][0]["resources"]
    assert [(each["name"], each["hash"], each["applied"]) for each in resources] == [
        ("other", OLD.hash, True),
        ("maps", NEW.hash, False),
    ]
    assert recorded(record(owner, brought()), owner, [brought()]) is None


def test_a_set_that_was_made_anew_takes_its_place_among_the_owners() -> None:
    change = recorded(record(resource_set(uid="1")), resource_set(uid="2"), ())
    assert change is not None
    assert [each["uid"] for each in change["metadata"]["ownerReferences"]] == ["cni-2"]


def test_a_set_is_taken_off_the_record_whole() -> None:
    owner = resource_set()
    binding = record(owner, brought())
    assert only_of(binding, owner)
    assert without(binding, owner) == {"metadata": {"ownerReferences": ()}, "spec": {"bindings": ()}}
    assert without(binding, resource_set("other")) is None


def _content(binding: ClusterResourceSetBinding) -> dict[str, Any]:
    return {"metadata": {"namespace": NAMESPACE, "name": binding.metadata.name}}


def _spec(change: dict[str, Any]) -> dict[str, Any]:
    return {"clusterName": CLUSTER, **change["spec"]}
