"""What is served is what a real server serves by default, but for a short list."""

from __future__ import annotations

from nagaya.apiserver.builtins import facts, resources
from nagaya.apiserver.meta.gvk import GroupVersionKind, GroupVersionResource


def test_pods_are_described_as_discovery_shows_them() -> None:
    pods = resources.by_gvr()[GroupVersionResource("", "v1", "pods")]
    assert (pods.singular, pods.kind, pods.namespaced) == ("pod", "Pod", True)
    assert (pods.short_names, pods.categories) == (("po",), ("all",))
    assert pods.verbs == ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
    assert pods.subresources["eviction"].kind == GroupVersionKind("policy", "v1", "Eviction")
    assert pods.subresources["status"].kind == pods.gvk
    assert pods.subresources["status"].verbs == ("get", "patch", "update")


def test_what_needs_running_pods_is_left_out_with_a_reason() -> None:
    served = {each.resource for each in resources.all_resources() if not each.group}
    served |= {f"{each.resource}/{sub}" for each in resources.all_resources() for sub in each.subresources}
    assert not served & set(resources.LEFT_OUT)
    assert all(resources.LEFT_OUT.values())


def test_every_kind_that_is_served_is_known() -> None:
    for resource in resources.all_resources():
        for kind in (resource.gvk, *(sub.kind for sub in resource.subresources.values())):
            assert facts.is_known_kind(kind), kind
        if "list" in resource.verbs:
            assert facts.is_known_kind(resource.gvk._replace(kind=f"{resource.kind}List"))


def test_what_cluster_tools_list_is_there() -> None:
    wanted = {
        *(("", "v1", name) for name in ("nodes", "services", "persistentvolumes", "replicationcontrollers")),
        *(("apps", "v1", name) for name in ("daemonsets", "deployments", "replicasets", "statefulsets")),
        *(("resource.k8s.io", "v1", name) for name in ("deviceclasses", "resourceclaims", "resourceslices")),
        *(("storage.k8s.io", "v1", name) for name in ("csidrivers", "csinodes", "storageclasses")),
        ("autoscaling", "v1", "horizontalpodautoscalers"),
        ("autoscaling", "v2", "horizontalpodautoscalers"),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    }
    assert wanted <= {tuple(gvr) for gvr in resources.by_gvr()}


def test_the_preferred_version_of_a_group_comes_first() -> None:
    versions = [str(each) for each in resources.group_versions()]
    assert versions[0] == "v1"
    assert versions.index("autoscaling/v2") < versions.index("autoscaling/v1")
    assert len(versions) == len(set(versions))


def test_resources_are_found_by_kind() -> None:
    assert resources.by_gvk()[GroupVersionKind("", "v1", "Endpoints")].resource == "endpoints"
