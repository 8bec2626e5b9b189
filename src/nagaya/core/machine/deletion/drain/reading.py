"""Reading the pods of a Node, and what is needed to judge them. A tenant is asked for nothing that cannot matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nagaya.core.machine.deletion.drain.judgement import Around, Unjudged, Verdict, judge
from nagaya.core.machine.deletion.drain.pods import DAEMON_SETS, NAMESPACES, PODS, Pod
from nagaya.core.machine.deletion.drain.rules import InvalidRule, Labels, Rule, rules_for
from nagaya.core.machine.deletion.tenant import TenantFailed
from nagaya.core.machine.seen import Seen
from nagaya.kube.client import Client
from nagaya.kube.key import Key


async def judged_pods(client: Client, seen: Seen, node: str, *, unreachable: bool) -> tuple[Verdict, ...]:
    """What becomes of each pod on a Node. Raises TenantFailed if that cannot be said."""
    pods = (await client.list(PODS, fields=f"spec.nodeName={node}")).items
    if not pods:
        return ()
    try:
        rules = rules_for(seen.machine, seen.cluster, seen.drain_rules)
        around = Around(
            now=seen.now,
            daemon_sets=await _daemon_sets(client, pods),
            rules=rules,
            namespaces=await _namespaces(client, rules),
            unreachable=unreachable,
        )
        return judge(pods, around)
    except (InvalidRule, Unjudged) as error:
        raise TenantFailed(f"failed to get Pods for eviction: {error}") from error


async def _daemon_sets(client: Client, pods: Iterable[Pod]) -> frozenset[Key]:
    """Those that exist; one list is less than a question for each, as every Node has pods of several."""
    if not any(each.daemon_set and not each.finished for each in pods):
        return frozenset()
    return frozenset(Key.of(each) for each in (await client.list(DAEMON_SETS)).items)


async def _namespaces(client: Client, rules: Iterable[Rule]) -> Mapping[str, Labels] | None:
    if not any(each.asks_namespaces for each in rules):
        return None
    return {each.metadata.name: each.metadata.labels for each in (await client.list(NAMESPACES)).items}
