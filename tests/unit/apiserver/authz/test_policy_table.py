from __future__ import annotations

from nagaya.apiserver.authz import policy_table

LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
ANNOTATIONS = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
GROUP = "rbac.authorization.k8s.io"


def test_a_table_becomes_roles() -> None:
    table = """\
system:one
  read | core,apps | pods
      deployments | a b
  get | paths | /x /y/*
  record events
two > three < four
"""
    one, two = policy_table.roles(table)
    assert one == {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "system:one", "labels": LABELS, "annotations": ANNOTATIONS},
        "rules": [
            {
                "verbs": ["get", "list", "watch"],
                "apiGroups": ["", "apps"],
                "resources": ["pods", "deployments"],
                "resourceNames": ["a", "b"],
            },
            {"verbs": ["get"], "nonResourceURLs": ["/x", "/y/*"]},
            {"verbs": ["create", "patch", "update"], "apiGroups": ["", "events.k8s.io"], "resources": ["events"]},
        ],
    }
    assert two["metadata"]["labels"] == {**LABELS, f"{GROUP}/aggregate-to-three": "true"}
    assert two["aggregationRule"] == {"clusterRoleSelectors": [{"matchLabels": {f"{GROUP}/aggregate-to-four": "true"}}]}
    assert two["rules"] is None


def test_a_table_becomes_bindings() -> None:
    table = "system:a: Group system:x, ServiceAccount n/s\nb = system:c: User u\nempty:\n"
    first, second, third = policy_table.bindings(table, "here")
    assert first["subjects"] == [
        {"kind": "Group", "apiGroup": GROUP, "name": "system:x"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
    ]
    assert (first["kind"], first["metadata"]["namespace"]) == ("RoleBinding", "here")
    assert first["roleRef"] == {"apiGroup": GROUP, "kind": "Role", "name": "system:a"}
    assert (second["metadata"]["name"], second["roleRef"]["name"]) == ("b", "system:c")
    assert (third["metadata"]["name"], "subjects" in third) == ("empty", False)


def test_without_a_namespace_bindings_are_for_the_cluster() -> None:
    (binding,) = policy_table.bindings("a: User u")
    assert (binding["kind"], binding["roleRef"]["kind"]) == ("ClusterRoleBinding", "ClusterRole")
