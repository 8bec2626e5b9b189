"""Giving a service its cluster address and node ports, before it is checked and stored.

Everything the user left open is filled in here, in place. What is chosen is reserved until the request has ended.
"""

from __future__ import annotations

from collections.abc import Callable

from nagaya.apiserver.builtins.kinds import service_forms as forms
from nagaya.apiserver.builtins.kinds.service_addresses import (
    RangeFull,
    Refused,
    Rehearsal,
    Reservation,
    ServiceAddresses,
)
from nagaya.apiserver.builtins.kinds.service_families import SERVICE, settle, stays_dual
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.field_errors import Path, invalid
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.registry.strategy import Undo

Choose = Callable[[Reservation], None]


def create(pool: ServiceAddresses, service: JsonObject, call: Call) -> Undo:
    """Give a new service what it needs. Raises 422 and 500."""
    spec = service["spec"]
    if spec.get("clusterIP") and not forms.ips(spec):
        spec["clusterIPs"] = [spec["clusterIP"]]
    settle(service, None)
    return _reserved(pool, call, lambda reservation: _create(service, reservation))


def _create(service: JsonObject, reservation: Reservation) -> None:
    spec = service["spec"]
    _give_ips(service, reservation)
    if forms.has_node_ports(spec):
        _give_ports(service, reservation)
    if forms.needs_health_check(spec):
        _give_health_port(spec, reservation)


def update(pool: ServiceAddresses, new: JsonObject, old: JsonObject, call: Call) -> Undo:
    """Give a changed service what it needs in addition. Raises 422 and 500."""
    spec, before = new["spec"], old["spec"]
    _keep_allocated(spec, before)
    _align_ips(spec, before)
    settle(new, old)

    def choose(reservation: Reservation) -> None:
        if not forms.needs_cluster_ip(before) and forms.needs_cluster_ip(spec) and not stays_dual(spec, before):
            _give_ips(new, reservation)
        if forms.has_node_ports(spec):
            _change_ports(new, before, reservation)
        if forms.needs_health_check(spec) and not forms.needs_health_check(before):
            _give_health_port(spec, reservation)

    return _reserved(pool, call, choose)


def _reserved(pool: ServiceAddresses, call: Call, choose: Choose) -> Undo:
    """Make a reservation and choose in it. If choosing fails, nothing stays reserved."""
    pool.refresh(call.backend.store, call.resource.table)
    kind = Rehearsal if call.dry_run else Reservation
    reservation = kind(pool, call.backend.world.random)
    try:
        choose(reservation)
    except BaseException:
        reservation.end()
        raise
    return reservation.end


def _give_ips(service: JsonObject, reservation: Reservation) -> None:
    spec = service["spec"]
    if not forms.needs_cluster_ip(spec) or forms.is_headless(spec) or forms.ips(spec)[:1] == [forms.NONE]:
        return
    wanted = forms.ips(spec)
    ips = [*wanted, *[""] * (len(forms.families(spec)) - len(wanted))]
    for position in range(len(forms.families(spec))):
        try:
            ips[position] = reservation.ip(ips[position])
        except Refused as refusal:
            detail = f"failed to allocate IP {ips[position]}: {refusal}"
            raise _invalid(service, Path("spec.clusterIPs"), ips, detail) from None
        except RangeFull as full:
            name = service["metadata"].get("name") or ""
            raise status.internal(f'failed to allocate a serviceIP for Service "{name}": {full}') from None
    spec["clusterIPs"] = ips
    spec["clusterIP"] = ips[0]


def _give_ports(service: JsonObject, reservation: Reservation) -> None:
    """Ports of the same number and different protocols share a node port."""
    spec = service["spec"]
    ports: list[JsonObject] = spec.get("ports") or []
    given: dict[int, int] = {}
    asked = {port["port"]: port["nodePort"] for port in reversed(ports) if port.get("nodePort")}
    for position, port in enumerate(ports):
        mine = port.get("nodePort") or 0
        if not mine and not forms.allocates_node_ports(spec):
            continue
        number = port["port"]
        if number not in given:
            given[number] = port["nodePort"] = _port(service, position, asked.get(number, 0), reservation)
        elif not mine:
            port["nodePort"] = given[number]
        elif mine != given[number]:
            _port(service, position, mine, reservation)


def _change_ports(service: JsonObject, before: JsonObject, reservation: Reservation) -> None:
    spec = service["spec"]
    known = set(forms.node_ports(before))
    seen: set[tuple[str, int]] = set()
    for position, port in enumerate(spec.get("ports") or ()):
        mine = port.get("nodePort") or 0
        if not mine and not forms.allocates_node_ports(spec):
            continue
        if mine not in known:
            mine = port["nodePort"] = _port(service, position, mine, reservation)
            known.add(mine)
        pair = (port.get("protocol") or "", mine)
        if pair in seen:
            raise ApiError(500, "", f"duplicate nodePort: {{{pair[0]} {mine}}}")
        seen.add(pair)


def _port(service: JsonObject, position: int, wanted: int, reservation: Reservation) -> int:
    try:
        return reservation.port(wanted)
    except Refused as refusal:
        where = Path("spec.ports").index(position).child("nodePort")
        raise _invalid(service, where, wanted, str(refusal)) from None
    except RangeFull as full:
        raise status.internal(f"failed to allocate a nodePort: {full}") from None


def _give_health_port(spec: JsonObject, reservation: Reservation) -> None:
    wanted = spec.get("healthCheckNodePort") or 0
    try:
        spec["healthCheckNodePort"] = reservation.port(wanted)
    except (Refused, RangeFull) as problem:
        what = f"requested HealthCheck NodePort {wanted}" if wanted else "a HealthCheck NodePort 0"
        raise status.internal(f"failed to allocate {what}: {problem}") from None


def _keep_allocated(spec: JsonObject, before: JsonObject) -> None:
    """Let a client that sends its original service again keep what it was given."""
    if forms.needs_cluster_ip(before) and forms.needs_cluster_ip(spec):
        for member in ("clusterIP", "clusterIPs"):
            if not spec.get(member) and before.get(member):
                spec[member] = before[member]
    if forms.allocates_node_ports(before) and forms.allocates_node_ports(spec):
        used = set(forms.node_ports(before)) & set(forms.node_ports(spec))
        by_name = {port.get("name") or "": port.get("nodePort") or 0 for port in before.get("ports") or ()}
        for port in spec.get("ports") or ():
            known = by_name.get(port.get("name") or "", 0)
            if not port.get("nodePort") and known and known not in used:
                port["nodePort"] = known
    if forms.needs_health_check(before) and forms.needs_health_check(spec):
        spec["healthCheckNodePort"] = spec.get("healthCheckNodePort") or before["healthCheckNodePort"]


def _align_ips(spec: JsonObject, before: JsonObject) -> None:
    """Bring `clusterIPs` into line with `clusterIP` for clients that know only one of them."""
    mine, theirs = spec.get("clusterIP") or "", before.get("clusterIP") or ""
    if mine == theirs:
        if forms.ips(before) and not forms.ips(spec):
            spec["clusterIPs"] = before["clusterIPs"]
    elif forms.ips(spec) == forms.ips(before):
        if mine:
            spec["clusterIPs"] = [mine]
        elif theirs:
            spec.pop("clusterIPs", None)


def _invalid(service: JsonObject, where: Path, value: object, detail: str) -> ApiError:
    return status.invalid(SERVICE, service["metadata"].get("name") or "", [invalid(where, value, detail)])
