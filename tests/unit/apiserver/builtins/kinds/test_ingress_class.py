"""Ingress classes: controllers and parameters."""

from support.core_kinds import CoreKinds

NAME = "ingressclasses.networking.k8s.io"


async def test_parameters_are_of_the_cluster_unless_they_say_otherwise() -> None:
    spec = {"controller": "a.b/c", "parameters": {"kind": "X", "name": "y"}}
    made = await CoreKinds().create(NAME, {"spec": spec})
    assert made["spec"]["parameters"] == {"kind": "X", "name": "y", "scope": "Cluster"}
    assert made["metadata"]["generation"] == 1


async def test_parameters_of_a_namespace_name_it() -> None:
    async def found(**parameters: str) -> list[str]:
        spec = {"controller": "a.b/c", "parameters": {"kind": "X", "name": "y", **parameters}}
        return await CoreKinds().refused(NAME, {"spec": spec})

    where = "spec.parameters.namespace"
    assert await found(scope="Namespace") == [f"{where}: Required value: `parameters.scope` is set to 'Namespace'"]
    assert await found(namespace="a") == [f"{where}: Forbidden: `parameters.scope` is set to 'Cluster'"]
    assert await found(scope="Galaxy") == [
        'spec.parameters.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespace"'
    ]


async def test_a_controller_has_a_domain_and_stays() -> None:
    kinds = CoreKinds()
    assert await kinds.refused(NAME, {"spec": {}}) == ["spec.controller: Required value"]
    found = await kinds.refused(NAME, {"spec": {"controller": "c"}})
    assert found == ['spec.controller: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")']
    found = await kinds.refused(NAME, {"spec": {"controller": "a/" + "b" * 250}})
    assert found == ["spec.controller: Too long: may not be more than 250 bytes"]
    await kinds.create(NAME, {"spec": {"controller": "a.b/c"}})
    found = await kinds.change_refused(NAME, "it", {"spec": {"controller": "d.e/f"}})
    assert found == ['spec.controller: Invalid value: "d.e/f": field is immutable']
