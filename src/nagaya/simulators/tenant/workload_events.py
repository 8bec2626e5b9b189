"""Which workload an event concerns: itself, or the controller of what changed."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.storage import Event
from nagaya.simulators.tenant.hands import table_of
from nagaya.simulators.tenant.view import View, owner_of


def of_pods(event: Event, view: View, resource: GroupResource, kind: str) -> Iterator[str]:
    """The keys of workloads of a kind that an event of theirs or of their pods concerns."""
    if event.table == table_of(resource):
        yield event.key
    elif event.table == "pods":
        change = view.pod_change(event)
        if not change.matters:
            return
        for pod in (change.before, change.after):
            if pod is not None and pod.owner is not None and pod.owner.kind == kind:
                yield f"{pod.namespace}/{pod.owner.name}"
                return


def of_children(event: Event, resource: GroupResource, kind: str, children: GroupResource) -> Iterator[str]:
    """The keys of objects of a kind that an event of theirs or of the objects they control concerns."""
    if event.table == table_of(resource):
        yield event.key
    elif event.table == table_of(children):
        last = event.record or event.previous
        owner = owner_of(last.object()["metadata"]) if last is not None else None
        if owner is not None and owner.kind == kind:
            yield f"{event.key.partition('/')[0]}/{owner.name}"
