from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from nagaya.api.bootstrap.component import Argument
from nagaya.api.controlplane.hosted_arguments import (
    ALLOWED,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
    refused,
)
from nagaya.api.controlplane.hosted_components import HostedApiServer, HostedComponent
from nagaya.api.controlplane.hosted_control_plane import HostedSettings
from nagaya.controlplane.hosted.components import (
    api_server,
    controller_manager,
    etcd,
    kine,
    konnectivity,
    needs,
    scheduler,
)
from nagaya.controlplane.hosted.components.arguments import values
from nagaya.controlplane.hosted.components.etcd import EtcdFacts
from nagaya.controlplane.hosted.components.facts import (
    EtcdStore,
    Folders,
    KineStore,
    LocalPorts,
    ServingFacts,
    TenantFacts,
    TunnelFacts,
)
from support.hosted_tenancies import FULL, SQL, control_plane, pod_facts

STORE = EtcdStore(("https://127.0.0.1:2379",), "/t-1", "/d/pki/etcd/ca.crt", "/d/pki/store.crt", "/d/pki/store.key")
FACTS = TenantFacts(
    "one",
    "v1.36.3",
    ServingFacts("10.0.0.1", "10.0.0.1", 40001),
    STORE,
    folders=Folders("/d/pki", "/d", "/d/configuration", "/d/encryption", "/d/logs", "/d"),
    ports=LocalPorts(controller_manager=40002, scheduler=40003),
    elected=False,
)


def value(arguments: Sequence[str], name: str) -> str:
    (found,) = values(arguments, name)
    return found


def has(arguments: Sequence[str], name: str) -> bool:
    return any(True for _ in values(arguments, name))


def test_the_api_server_listens_and_stores_where_it_is_told() -> None:
    found = api_server.arguments(FACTS)

    assert value(found, "secure-port") == "40001"
    assert value(found, "advertise-address") == "10.0.0.1"
    assert value(found, "etcd-prefix") == "/t-1"
    assert value(found, "etcd-certfile") == "/d/pki/store.crt"
    assert value(found, "service-cluster-ip-range") == "10.96.0.0/16"
    assert value(found, "service-account-issuer") == "https://kubernetes.default.svc.cluster.local"


def test_no_tenant_compacts_the_history_of_all() -> None:
    assert value(api_server.arguments(FACTS), "etcd-compaction-interval") == "0"
    assert not has(api_server.arguments(replace(FACTS, store=KineStore("/d/kine.sock"))), "etcd-compaction-interval")


def test_kine_is_reached_by_its_socket_and_its_password_is_on_no_command_line() -> None:
    facts = replace(FACTS, store=SQL)

    assert value(api_server.arguments(facts), "etcd-servers") == "unix:///run/nagaya/kine.sock"
    assert value(kine.arguments(SQL), "listen-address") == "unix:///run/nagaya/kine.sock"
    assert value(kine.arguments(SQL), "metrics-bind-address") == "0"
    assert "canary-password" not in repr((facts, kine.arguments(SQL), api_server.arguments(facts)))
    assert "canary-password" in kine.environment(SQL)["KINE_ENDPOINT"]


def test_kine_takes_some_connections_of_a_server_that_others_use_and_as_many_as_it_likes_of_its_own_file() -> None:
    limit, shared = "datastore-max-open-connections", KineStore("/d/kine.sock", "postgres://one@example/one")

    assert value(kine.arguments(shared), limit) == "16"
    assert value(kine.arguments(shared, [Argument(name=limit, value="40")]), limit) == "40"
    assert not has(kine.arguments(KineStore("/d/kine.sock", "sqlite:///d/one.db")), limit)


def test_node_restriction_is_always_on_and_comes_first() -> None:
    found = api_server.arguments(pod_facts(FULL))

    assert value(found, "enable-admission-plugins") == "NodeRestriction,AlwaysPullImages"
    assert value(found, "disable-admission-plugins") == "DefaultStorageClass"


def test_calls_into_the_cluster_go_through_the_tunnel_only_if_there_is_one() -> None:
    tunnel = TunnelFacts("/d/tunnel.sock", "10.0.0.1", 40004, servers=2)

    assert not has(api_server.arguments(FACTS), "egress-selector-config-file")
    assert has(api_server.arguments(replace(FACTS, tunnel=tunnel)), "egress-selector-config-file")
    found = konnectivity.arguments(tunnel, FACTS.folders)
    assert value(found, "uds-name") == "/d/tunnel.sock"
    assert value(found, "agent-port") == "40004"
    assert value(found, "server-count") == "2"
    assert value(found, "kubeconfig") == "/d/konnectivity-server.conf"


def test_a_port_is_shared_and_left_orderly_only_where_there_are_several() -> None:
    several = replace(
        FACTS, serving=ServingFacts("10.0.0.1", "10.0.0.1", port_shared=True, drain_seconds=5), replicas=2
    )

    assert not has(api_server.arguments(FACTS), "permit-port-sharing")
    assert not has(api_server.arguments(FACTS), "shutdown-delay-duration")
    found = api_server.arguments(several)
    assert value(found, "permit-port-sharing") == "true"
    assert value(found, "shutdown-delay-duration") == "5s"
    assert value(found, "shutdown-send-retry-after") == "true"


def test_behind_a_balancer_nobody_is_sent_away_and_no_address_is_taken_away() -> None:
    serving = ServingFacts("127.64.1.2", "10.0.0.1", drain_seconds=3, watch_seconds=2, balanced=True)
    found = api_server.arguments(replace(FACTS, serving=serving, replicas=2))

    assert not has(found, "shutdown-send-retry-after")
    assert value(found, "shutdown-delay-duration") == "3s"
    assert value(found, "shutdown-watch-termination-grace-period") == "2s"
    assert value(found, "endpoint-reconciler-type") == "none"


def test_a_loopback_address_is_not_put_behind_a_service() -> None:
    local = replace(FACTS, serving=ServingFacts("127.0.0.1", "127.0.0.1"))

    assert value(api_server.arguments(local), "endpoint-reconciler-type") == "none"
    assert not has(api_server.arguments(FACTS), "endpoint-reconciler-type")


def test_kubelets_certificates_are_verified_if_asked_for() -> None:
    assert not has(api_server.arguments(FACTS), "kubelet-certificate-authority")
    found = api_server.arguments(pod_facts(FULL))
    assert value(found, "kubelet-certificate-authority") == "/etc/kubernetes/pki/ca.crt"
    assert value(found, "kubelet-preferred-address-types") == "Hostname"


def test_one_of_several_is_elected() -> None:
    for program in (controller_manager, scheduler):
        assert value(program.arguments(FACTS), "leader-elect") == "false"
        assert value(program.arguments(replace(FACTS, elected=True)), "leader-elect") == "true"


def test_joining_works_whichever_controllers_the_user_chooses() -> None:
    assert value(controller_manager.arguments(FACTS), "controllers") == (
        "*,bootstrap-signer-controller,token-cleaner-controller"
    )
    assert value(controller_manager.arguments(pod_facts(FULL)), "controllers") == (
        "*,-ttl-controller,bootstrap-signer-controller,token-cleaner-controller"
    )


def test_the_longest_choice_of_controllers_that_admission_accepts_is_used() -> None:
    chosen = ",".join(["*", *(f"-c{number}" for number in range(63))])
    given = (Argument(name="controllers", value=chosen),)
    assert not [*refused(KUBE_CONTROLLER_MANAGER, [("controllers", chosen)])]
    settings = HostedSettings(controller_manager=HostedComponent(extra_args=given))
    assert value(controller_manager.arguments(replace(FACTS, settings=settings)), "controllers").startswith(chosen)


def test_both_families_are_told() -> None:
    facts = pod_facts(FULL)

    assert value(controller_manager.arguments(facts), "cluster-cidr") == "10.64.0.0/14,fd00:10:64::/48"
    assert value(api_server.arguments(facts), "service-cluster-ip-range") == "10.128.0.0/16,fd00:10:128::/112"


def test_etcd_shows_itself_to_those_with_a_certificate_only() -> None:
    found = etcd.arguments(EtcdFacts("one", "/d/etcd", "/d/pki", address="::1", metrics_port=2381))

    assert value(found, "listen-client-urls") == "https://[::1]:2379"
    assert value(found, "client-cert-auth") == value(found, "peer-client-cert-auth") == "true"
    assert value(found, "listen-metrics-urls") == "http://127.0.0.1:2381"


def test_an_etcd_that_is_alone_does_not_wait_for_others_but_keeps_to_what_etcd_takes() -> None:
    found = etcd.arguments(EtcdFacts("one", "/d/etcd", "/d/pki"))

    heartbeat, election = int(value(found, "heartbeat-interval")), int(value(found, "election-timeout"))
    assert 5 * heartbeat <= election <= 500


def test_only_the_controller_manager_has_the_key_of_the_authority() -> None:
    for facts in (FACTS, pod_facts(FULL, SQL)):
        files = needs.needed(facts)
        assert [program for program, names in files.items() if "ca.key" in names] == [KUBE_CONTROLLER_MANAGER]


def test_a_program_is_given_every_file_that_it_is_told_of() -> None:
    for facts in (FACTS, pod_facts(), pod_facts(FULL, SQL)):
        told = {
            KUBE_APISERVER: (
                *api_server.arguments(facts),
                *(konnectivity.arguments(facts.tunnel, facts.folders) if facts.tunnel else ()),
                *(kine.arguments(facts.store) if isinstance(facts.store, KineStore) else ()),
            ),
            KUBE_CONTROLLER_MANAGER: controller_manager.arguments(facts),
            KUBE_SCHEDULER: scheduler.arguments(facts),
        }
        for program, arguments in told.items():
            paths = {each.partition("=")[2] for each in arguments}
            pki = {path.removeprefix(f"{facts.folders.pki}/") for path in paths if path.startswith(facts.folders.pki)}
            kubeconfigs = {path.rpartition("/")[2] for path in paths if path.endswith(".conf")}
            assert pki | kubeconfigs == set(needs.needed(facts)[program]), program


def test_plugins_and_audit_logs_keep_to_bounds_without_admission() -> None:
    settings = control_plane(
        {
            "version": "v1.36.3",
            "apiServer": {
                "admissionPlugins": {
                    "enable": ["ImagePolicyWebhook", "A,EventRateLimit", "AlwaysPullImages"],
                    "disable": ["NodeRestriction", "x", "DefaultStorageClass"],
                },
                "audit": {"maxBackups": 10**9, "maxSizeMegabytes": 10**9},
            },
        }
    ).spec
    found = api_server.arguments(replace(FACTS, settings=settings))

    assert value(found, "enable-admission-plugins") == "NodeRestriction,AlwaysPullImages"
    assert value(found, "disable-admission-plugins") == "DefaultStorageClass"
    assert (value(found, "audit-log-maxbackup"), value(found, "audit-log-maxsize")) == ("50", "200")


FLAGS = json.loads((Path(__file__).parents[3] / "api/controlplane/program_flags.json").read_text())


@given(
    st.lists(
        st.builds(
            Argument,
            name=st.one_of(st.sampled_from(FLAGS[KUBE_APISERVER]), st.text()),
            value=st.one_of(st.text(), st.sampled_from(["true", "1", "1h", "/etc/shadow", "unix:///run/x.sock"])),
        )
    )
)
def test_whatever_users_give_what_is_fixed_stays_and_nothing_else_gets_in(given: list[Argument]) -> None:
    settings = HostedSettings(api_server=HostedApiServer(extra_args=tuple(given)))
    plain, found = api_server.arguments(FACTS), api_server.arguments(replace(FACTS, settings=settings))

    for each in {*found} - {*plain}:
        name, _, value = each.removeprefix("--").partition("=")
        assert ALLOWED[KUBE_APISERVER][name].accepts(value)
    for each in {*plain} - {*found}:
        assert each.removeprefix("--").partition("=")[0] in ALLOWED[KUBE_APISERVER]


def test_the_same_facts_give_the_same_words() -> None:
    again = replace(FACTS, settings=control_plane(FULL).spec)
    assert api_server.arguments(again) == api_server.arguments(replace(FACTS, settings=control_plane(FULL).spec))
    assert list(api_server.arguments(FACTS)) == sorted(api_server.arguments(FACTS), key=lambda each: each.split("=")[0])


def test_scheduler_arguments_of_the_user_are_taken() -> None:
    settings = HostedSettings(scheduler=HostedComponent(extra_args=(Argument(name="v", value="4"),)))
    assert value(scheduler.arguments(replace(FACTS, settings=settings)), "v") == "4"


def test_the_controller_manager_runs_no_volume_drivers_of_its_machine() -> None:
    given = (Argument(name="flex-volume-plugin-dir", value="/usr/libexec"),)
    settings = HostedSettings(controller_manager=HostedComponent(extra_args=given))
    for facts in (FACTS, replace(FACTS, settings=settings), pod_facts()):
        folder = value(controller_manager.arguments(facts), "flex-volume-plugin-dir")
        assert Path(folder).parent == Path("/dev/null")
