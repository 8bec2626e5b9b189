"""Servers that begin with what another has made."""

from __future__ import annotations

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.seed import Seed
from nagaya.apiserver.server import ApiServer, Config
from nagaya.pki.authority import CertificateAuthority
from nagaya.world import SystemClock
from support.in_process import ADMIN, Api, MovingClock

ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
USERS = {"admin": ADMIN, "nobody": User("nobody", groups=("system:authenticated",))}


async def started(seed: Seed | None = None) -> Api:
    server = await ApiServer.start(Config(tokens=USERS, seed=seed))
    await server.settled()
    return Api(server, MovingClock())


async def names(api: Api, path: str) -> list[str]:
    return [each["metadata"]["name"] for each in (await api.must(path))["items"]]


async def test_a_seeded_server_has_what_others_have_and_shares_the_records() -> None:
    first = await started()
    second = await started(Seed(first.server.store))
    for path in (ROLES, "/api/v1/namespaces", "/api/v1/services", "/apis/scheduling.k8s.io/v1/priorityclasses"):
        assert await names(first, path) == await names(second, path)
    table = "rbac.authorization.k8s.io/clusterroles"
    shared = first.server.store.get(table, "cluster-admin")
    assert second.server.store.get(table, "cluster-admin") is shared
    system = "/api/v1/namespaces/kube-system"
    uids = [(await api.must(system))["metadata"]["uid"] for api in (first, second)]
    assert uids[0] != uids[1], "a cluster is told by the uid of this namespace"
    await first.server.stop()
    await second.server.stop()


async def test_changes_stay_with_the_server_that_makes_them() -> None:
    first = await started()
    seed = Seed(first.server.store)
    second, third = await started(seed), await started(seed)
    await second.merge(f"{ROLES}/view", {"metadata": {"labels": {"changed": "yes"}}})
    await second.delete(f"{ROLES}/edit")
    for api in (first, third):
        assert "changed" not in (await api.must(f"{ROLES}/view"))["metadata"]["labels"]
        assert await api.get(f"{ROLES}/edit") is not None
    for api in (first, second, third):
        await api.server.stop()


async def test_roles_of_a_seed_count_and_are_watched_from_the_start() -> None:
    first = await started()
    api = await started(Seed(first.server.store))
    code, answer = await api.ask("GET", "/api/v1/nodes", user="nobody")
    assert code == 403, answer
    code, _ = await api.ask("GET", "/version", user="nobody")
    assert code == 200, "the default role system:public-info-viewer allows it"
    binding = {
        "metadata": {"name": "everyone"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "nobody"}],
    }
    await api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    assert (await api.ask("GET", "/api/v1/nodes", user="nobody"))[0] == 200
    await first.server.stop()
    await api.server.stop()


async def test_a_server_can_have_the_authority_and_the_version_it_is_given() -> None:
    authority = CertificateAuthority.create("kubernetes", SystemClock())
    server = await ApiServer.start(Config(tokens=USERS, authority=authority, kubernetes_version="v1.35.4"))
    await server.settled()
    api = Api(server, MovingClock())
    root = await api.must("/api/v1/namespaces/default/configmaps/kube-root-ca.crt")
    assert root["data"]["ca.crt"].encode() == authority.certificate_pem
    version = await api.must("/version")
    assert (version["minor"], version["minCompatibilityMinor"]) == ("35", "34")
    assert version["gitVersion"].startswith("v1.35.4+nagaya.")
    await server.stop()
