"""Flow schemas and priority levels."""

from typing import Any

from support.core_kinds import CoreKinds

SCHEMA = "flowschemas.flowcontrol.apiserver.k8s.io"
LEVEL = "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"
TO = {"priorityLevelConfiguration": {"name": "it"}}


async def schema_refused(name: str = "it", **spec: Any) -> list[str]:
    return await CoreKinds().refused(SCHEMA, {"metadata": {"name": name}, "spec": {**TO, **spec}})


async def level_refused(name: str = "it", **spec: Any) -> list[str]:
    return await CoreKinds().refused(LEVEL, {"metadata": {"name": name}, "spec": spec})


async def test_a_schema_comes_neither_early_nor_late() -> None:
    made = await CoreKinds().create(SCHEMA, {"spec": TO, "status": {"conditions": [{"type": "a"}]}})
    assert made["spec"]["matchingPrecedence"] == 1000
    assert made["metadata"]["generation"] == 1
    assert made["status"] == {}


async def test_only_the_exempt_schema_is_first() -> None:
    detail = "only the schema named 'exempt' may have matchingPrecedence 1"
    assert await schema_refused(matchingPrecedence=1) == [f"spec.matchingPrecedence: Invalid value: 1: {detail}"]
    found = await schema_refused("exempt", matchingPrecedence=2)
    assert [each.rpartition(": ")[2] for each in found] == ["spec of 'exempt' must equal the fixed value"]
    assert '"PriorityLevelConfiguration":{"Name":"it"},"MatchingPrecedence":2' in found[0]


async def test_a_rule_is_about_somebody_and_something() -> None:
    where = "spec.rules[0]"
    assert await schema_refused(rules=[{}]) == [
        f"{where}.subjects: Required value: subjects must contain at least one value",
        f"{where}: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
    ]


async def test_a_subject_says_no_more_than_its_kind() -> None:
    subjects = [{"kind": "User", "user": {"name": "u"}, "group": {"name": "g"}}, {"kind": "Group"}, {"kind": "Crowd"}]
    everything = [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}]
    where = "spec.rules[0].subjects"
    assert await schema_refused(rules=[{"subjects": subjects, "resourceRules": everything}]) == [
        f"{where}[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
        f"{where}[1].group: Required value: group is required when subject kind is 'Group'",
        f'{where}[2].kind: Unsupported value: "Crowd": supported values: "Group", "ServiceAccount", "User"',
    ]


async def test_a_star_stands_alone_and_ends_a_path() -> None:
    rule = {"verbs": ["*", "get"], "nonResourceURLs": ["/a*", "/b/*", "c", "/d//e"]}
    subjects = [{"kind": "User", "user": {"name": "u"}}]
    where = "spec.rules[0].nonResourceRules[0]"
    assert await schema_refused(rules=[{"subjects": subjects, "nonResourceRules": [rule]}]) == [
        f'{where}.verbs: Invalid value: ["*","get"]: if \'*\' is present, must not specify other verbs',
        f'{where}.nonResourceURLs[0]: Invalid value: "/a*": wildcard can only do suffix matching',
        f'{where}.nonResourceURLs[2]: Invalid value: "c": must start with slash',
        f'{where}.nonResourceURLs[3]: Invalid value: "/d//e": must not contain double slash',
    ]


async def test_levels_have_shares_and_queues() -> None:
    spec = {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}
    made = await CoreKinds().create(LEVEL, {"spec": spec})
    assert made["spec"]["limited"] == {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
        "limitResponse": {"type": "Queue", "queuing": {"handSize": 8, "queues": 64, "queueLengthLimit": 50}},
    }


async def test_a_level_has_the_parts_of_its_type() -> None:
    assert await level_refused(type="Limited") == [
        "spec.limited: Required value: must not be empty when type is Limited"
    ]
    assert await level_refused() == ["spec.type: Required value"]
    exempt = "must be 'Exempt' if and only if `name` is 'exempt'"
    assert await level_refused(type="Exempt") == [f'spec.type: Invalid value: "Exempt": {exempt}']


async def test_hands_are_dealt_from_enough_queues() -> None:
    async def found(**queuing: int) -> list[str]:
        limited = {"limitResponse": {"type": "Queue", "queuing": queuing}}
        return await level_refused(type="Limited", limited=limited)

    where = "spec.limited.limitResponse.queuing.handSize"
    assert await found(queues=5, handSize=6) == [f"{where}: Invalid value: 6: should not be greater than queues (5)"]
    bits = "required entropy bits of deckSize 1000 and handSize 50 should not be greater than 60"
    assert await found(queues=1000, handSize=50) == [f"{where}: Invalid value: 50: {bits}"]


async def test_the_status_takes_conditions_and_nothing_else() -> None:
    kinds = CoreKinds()
    await kinds.create(SCHEMA, {"spec": TO})
    conditions = [{"type": "Dangling", "status": "True"}]
    patch = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"matchingPrecedence": 5},
        "status": {"conditions": conditions},
    }
    changed = await kinds.change(SCHEMA, "it", patch, "status")
    assert changed["status"]["conditions"][0]["type"] == "Dangling"
    assert changed["spec"]["matchingPrecedence"] == 1000
    assert "labels" not in changed["metadata"]
    twice = {"status": {"conditions": [*conditions, *conditions]}}
    assert await kinds.change_refused(SCHEMA, "it", twice, "status") == [
        'status.conditions[1].type: Duplicate value: "Dangling"'
    ]
