from __future__ import annotations

from nagaya.api.proxmox.group import ALLOWED_NAMESPACES
from nagaya.moving.belongings import belongings
from nagaya.moving.item import MOVE, MOVE_HIERARCHY, Item
from support.moving import item

CLUSTER = item("Cluster", "shop")


def moved(*items: Item, namespace: str = "") -> list[str]:
    return [each.metadata.name for each in belongings(items, namespace).items]


def test_everything_moves_that_a_cluster_owns_however_far_away() -> None:
    machine_set = item("MachineSet", "set", CLUSTER)
    machine = item("Machine", "machine", machine_set)
    assert moved(CLUSTER, machine_set, machine, item("Machine", "stray")) == ["shop", "set", "machine"]


def test_secrets_that_are_called_after_a_cluster_move_without_an_owner() -> None:
    secrets = [item("Secret", name) for name in ("shop-ca", "shop-kubeconfig", "shop-other", "ca")]
    labelled = item("Secret", "any", labels={"cluster.x-k8s.io/cluster-name": "shop"})
    elsewhere = item("Secret", "shop-sa", namespace="there")
    assert moved(CLUSTER, *secrets, labelled, elsewhere) == ["shop", "shop-ca", "shop-kubeconfig", "any"]


def test_secrets_move_that_something_of_the_cluster_names() -> None:
    files = {"files": [{"path": "/etc/x", "contentFrom": {"secret": {"name": "content", "key": "x"}}}]}
    config = item("KubeadmConfigTemplate", "config", CLUSTER, spec={"template": {"spec": files}})
    credentials = {
        "credentialsRef": {"name": "pve", "namespace": "there"},
        "caRef": {"kind": "ConfigMap", "name": "ca"},
    }
    infrastructure = item("ProxmoxCluster", "proxmox", CLUSTER, spec=credentials)
    named = [item("Secret", "content"), item("ConfigMap", "ca")]
    others = [item("Secret", "pve"), item("Secret", "ca"), item("ConfigMap", "content")]
    found = belongings([CLUSTER, config, infrastructure, *named, *others]).items
    assert {*found} == {CLUSTER, config, infrastructure, *named}
    # One of another namespace is taken away from there only if it allows its use, and if everything moves.
    for allowed in (None, "elsewhere", CLUSTER.metadata.namespace):
        annotations = {} if allowed is None else {ALLOWED_NAMESPACES: allowed}
        secret = item("Secret", "pve", namespace="there", annotations=annotations)
        everything = [CLUSTER, config, infrastructure, *named, *others, secret]
        assert (secret in belongings(everything).items) is (allowed == CLUSTER.metadata.namespace)
        assert secret not in belongings(everything, CLUSTER.metadata.namespace).items


def test_a_claim_that_somebody_made_by_hand_moves_with_its_pool() -> None:
    pool = item("InClusterIPPool", "pool", kind_labels=(MOVE_HIERARCHY,))
    claim = item("IPAddressClaim", "by-hand", spec={"poolRef": {"kind": "InClusterIPPool", "name": "pool"}})
    address = item("IPAddress", "by-hand", claim, pool)
    others = [
        item("IPAddressClaim", "of-another", spec={"poolRef": {"kind": "InClusterIPPool", "name": "another"}}),
        item("IPAddressClaim", "elsewhere", namespace="there", spec=claim.object.at("spec")),
    ]
    found = belongings([pool, claim, address, *others])
    assert {*found.items} == {pool, claim, address}
    assert found.left == ()


def test_rules_for_drains_move_although_nobody_owns_them() -> None:
    assert moved(CLUSTER, item("MachineDrainRule", "rule")) == ["shop", "rule"]


def test_the_binding_of_resource_sets_belongs_to_the_cluster_that_it_is_called_after() -> None:
    assert moved(CLUSTER, item("ClusterResourceSetBinding", "shop"), item("ClusterResourceSetBinding", "x")) == [
        "shop",
        "shop",
    ]


def test_kinds_say_that_their_objects_move_alone_or_with_what_they_own() -> None:
    alone = item("Reservation", "alone", namespace="", kind_labels=(MOVE,))
    with_all = item("Pool", "with-all", kind_labels=(MOVE_HIERARCHY,))
    below = [item("Thing", "below-alone", alone), item("Address", "below-all", with_all)]
    assert moved(alone, with_all, *below) == ["alone", "with-all", "below-all"]


def test_of_one_namespace_only_what_is_in_it_moves() -> None:
    other = item("Cluster", "other", namespace="there")
    shared = item("Reservation", "shared", namespace="", kind_labels=(MOVE,))
    assert moved(CLUSTER, other, item("Machine", "m", other, namespace="there"), shared, namespace="here") == [
        "shop",
        "shared",
    ]


def test_of_what_has_no_namespace_only_that_moves_with_one_that_is_about_it_alone() -> None:
    mine, others = (
        item("Reservation", name, namespace="", kind_labels=(MOVE,), spec={"machineRef": {"namespace": name}})
        for name in ("here", "there")
    )
    pool = item("Pool", "pool", namespace="", kind_labels=(MOVE_HIERARCHY,))
    addresses = [item("Address", f"address-{name}", pool, namespace=name) for name in ("here", "there")]
    assert moved(CLUSTER, mine, others, pool, *addresses, namespace="here") == ["shop", "here"]
    assert len(moved(CLUSTER, mine, others, pool, *addresses)) == 6


def test_an_owner_that_stays_behind_is_told() -> None:
    foreign = item("Thing", "foreign")
    machine = item("Machine", "machine", CLUSTER, foreign)
    assert belongings([CLUSTER, foreign, machine]).left == ((foreign, machine),)


def test_an_owner_reference_across_namespaces_takes_nothing_along() -> None:
    """Whoever writes objects of one namespace would otherwise have them made at the management API of another."""
    forged = [item(kind, "forged", CLUSTER, namespace="there") for kind in ("Secret", "HostedControlPlane", "Cluster")]
    assert moved(CLUSTER, *forged, namespace=CLUSTER.metadata.namespace) == ["shop"]
