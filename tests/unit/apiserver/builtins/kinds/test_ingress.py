"""Ingresses: generations, classes and the points where requests enter."""

from typing import Any

from support.core_kinds import CoreKinds

NAME = "ingresses.networking.k8s.io"
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
CLASS = "kubernetes.io/ingress.class"


async def ingress(**metadata: Any) -> CoreKinds:
    kinds = CoreKinds()
    await kinds.create(NAME, {"metadata": metadata, "spec": {"defaultBackend": BACKEND}})
    return kinds


async def test_a_new_ingress_has_no_load_balancer_and_the_first_generation() -> None:
    points = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    made = await CoreKinds().create(NAME, {"spec": {"defaultBackend": BACKEND}, "status": points})
    assert made["status"] == {"loadBalancer": {}}
    assert made["metadata"]["generation"] == 1


async def test_the_generation_counts_changes_of_the_spec() -> None:
    kinds = await ingress()
    changed = await kinds.change(NAME, "it", {"metadata": {"labels": {"a": "b"}}})
    assert changed["metadata"]["generation"] == 1
    changed = await kinds.change(NAME, "it", {"spec": {"ingressClassName": "x"}})
    assert changed["metadata"]["generation"] == 2


async def test_the_old_and_the_new_way_to_name_a_class_agree_at_first() -> None:
    spec = {"defaultBackend": BACKEND, "ingressClassName": "new"}
    found = await CoreKinds().refused(NAME, {"metadata": {"annotations": {CLASS: "old"}}, "spec": spec})
    assert found == [
        f'annotations.{CLASS}: Invalid value: "old": must match `ingressClassName` when both are specified'
    ]
    kinds = await ingress(annotations={CLASS: "old"})
    changed = await kinds.change(NAME, "it", {"spec": {"ingressClassName": "new"}})
    assert changed["spec"]["ingressClassName"] == "new"


async def test_the_status_keeps_the_spec_but_takes_labels() -> None:
    kinds = await ingress()
    points = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4", "hostname": "example.com"}]}}
    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"ingressClassName": "x"}, "status": points}
    changed = await kinds.change(NAME, "it", patch, "status")
    assert changed["status"] == points
    assert changed["metadata"]["labels"] == {"a": "b"}
    assert changed["spec"] == {"defaultBackend": BACKEND}


async def test_a_point_of_entry_has_an_address_and_a_name_that_is_none() -> None:
    kinds = await ingress()
    points = [{"ip": "01.2.3.4", "hostname": "1.2.3.4"}]
    found = await kinds.change_refused(NAME, "it", {"status": {"loadBalancer": {"ingress": points}}}, "status")
    where = "status.loadBalancer.ingress[0]"
    assert found == [
        f'{where}.ip: Invalid value: "01.2.3.4": must not have leading 0s',
        f'{where}.hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
    ]
