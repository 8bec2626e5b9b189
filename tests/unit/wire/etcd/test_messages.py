"""What etcd's own code writes is read and written again: no field is forgotten, none has another number."""

from __future__ import annotations

from typing import Any

from nagaya.wire import protobuf
from nagaya.wire.etcd import auth, cluster, header, kv, lease, maintenance, watch
from nagaya.wire.protobuf import Message
from support.subtest_cases import subtest_cases

MODULES = (auth, cluster, header, kv, lease, maintenance, watch)

# Each message with every field set, as etcd 3.7.3 encodes it.
WRITTEN_BY_ETCD = {
    "MemberAddResponse": (
        "0a1a08ffffffffffffffffff01108080808080808080800118072002121b08feffffffffffffffff0112016d1a027031"
        "1a02703222016328011a1b08feffffffffffffffff0112016d1a0270311a0270322201632801"
    ),
    "MemberAddRequest": "0a01701001",
    "MemberRequest": "08ffffffffffffffffff01",
    "MemberUpdateRequest": "0805120170",
    "MemberListRequest": "0801",
    "MembersResponse": (
        "0a1a08ffffffffffffffffff01108080808080808080800118072002121b08feffffffffffffffff0112016d1a027031"
        "1a0270322201632801"
    ),
    "AlarmRequest": "080210091802",
    "AlarmResponse": "0a1a08ffffffffffffffffff01108080808080808080800118072002120408091001",
    "StatusResponse": (
        "0a1a08ffffffffffffffffff011080808080808080808001180720021205332e372e3318012002280330043805420165"
        "480650015a03332e376008"
    ),
    "MoveLeaderRequest": "0803",
    "SnapshotResponse": "0a1a08ffffffffffffffffff0110808080808080808080011807200210011a01622203332e37",
    "RangeRequest": "0a016112016218012002280230043801400148015003580460056806",
    "RangeResponse": (
        "0a1a08ffffffffffffffffff0110808080808080808080011807200212170a016b1001180220032a017630fcffffffff"
        "ffffffff0118012009"
    ),
    "PutRequest": "0a01611201621801200128013001",
    "PutResponse": (
        "0a1a08ffffffffffffffffff0110808080808080808080011807200212170a016b1001180220032a017630fcffffffffffffffff01"
    ),
    "DeleteRangeRequest": "0a01611201621801",
    "DeleteRangeResponse": (
        "0a1a08ffffffffffffffffff0110808080808080808080011807200210011a170a016b1001180220032a017630fcffffffffffffffff01"
    ),
    "TxnRequest": (
        "0a0708031a016120000a0710011a016128010a0710021a016130020a0810031a01613a01780a0b10041a016182040162"
        "4003120512030a01611a050a030a01611a051a030a0161"
    ),
    "TxnResponse": (
        "0a1a08ffffffffffffffffff0110808080808080808080011807200210011a1e121c0a1a08ffffffffffffffffff0110"
        "80808080808080808001180720021a1e0a1c0a1a08ffffffffffffffffff011080808080808080808001180720021a1e"
        "1a1c0a1a08ffffffffffffffffff01108080808080808080800118072002"
    ),
    "CompactionRequest": "08011001",
    "LeaseGrantRequest": "08011002",
    "LeaseGrantResponse": "0a1a08ffffffffffffffffff0110808080808080808080011807200210011802220165",
    "LeaseRequest": "08ffffffffffffffffff01",
    "LeaseKeepAliveResponse": "0a1a08ffffffffffffffffff0110808080808080808080011807200210011802",
    "LeaseTimeToLiveRequest": "08011001",
    "LeaseTimeToLiveResponse": (
        "0a1a08ffffffffffffffffff01108080808080808080800118072002100118ffffffffffffffffff0120032a01612a0162"
    ),
    "LeaseLeasesResponse": "0a1a08ffffffffffffffffff011080808080808080808001180720021202080112020802",
    "AuthStatusResponse": "0a1a08ffffffffffffffffff0110808080808080808080011807200210011803",
    "UserAddRequest": "0a016e1a020801",
    "UserRequest": "0a016e",
    "UserGetResponse": "0a1a08ffffffffffffffffff01108080808080808080800118072002120172",
    "UserListResponse": "0a1a08ffffffffffffffffff01108080808080808080800118072002120175",
    "UserRoleRequest": "0a0175120172",
    "RoleRequest": "0a0172",
    "RoleGetResponse": "0a1a08ffffffffffffffffff01108080808080808080800118072002120808021201611a0162",
    "RoleListResponse": "0a1a08ffffffffffffffffff01108080808080808080800118072002120172",
    "RoleGrantPermissionRequest": "0a0172120808021201611a0162",
    "RoleRevokePermissionRequest": "0a01721201611a0162",
    "WatchRequest.create": "0a140a0161120162180120012a020001300138024001",
    "WatchRequest.cancel": "1200",
    "WatchRequest.progress": "1a00",
    "WatchResponse": (
        "0a1a08ffffffffffffffffff0110808080808080808080011807200210ffffffffffffffffff01180120012803320163"
        "38015a34080112170a016b1001180220032a017630fcffffffffffffffff011a170a016b1001180220032a017630fcff"
        "ffffffffffffff01"
    ),
}


def kind_named(name: str) -> type[Message]:
    found: list[Any] = [vars(module)[name] for module in MODULES if name in vars(module)]
    return found[0]


@subtest_cases("name", WRITTEN_BY_ETCD)
def test_messages_are_etcds(name: str) -> None:
    data = bytes.fromhex(WRITTEN_BY_ETCD[name])
    kind = kind_named(name.partition(".")[0])
    message = protobuf.decode(kind, data)
    written = protobuf.encode(message)
    assert protobuf.decode(kind, written) == message
    assert sorted(written) == sorted(data)  # etcd puts members of a `oneof` last, so the order may differ
    if "." not in name and name not in ("UserAddRequest", "LeaseRequest"):
        defaults = kind()
        same = [each for each in kind.__struct_fields__ if getattr(message, each) == getattr(defaults, each)]
        assert same == []


def test_every_request_and_response_is_checked() -> None:
    checked = {name.partition(".")[0] for name in WRITTEN_BY_ETCD}
    known = {
        name
        for module in MODULES
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Message) and name.endswith(("Request", "Response"))
    }
    assert known - checked == {"WatchCreateRequest", "WatchCancelRequest", "WatchProgressRequest"}  # within another


def test_fields_mean_what_they_are_called() -> None:
    added = protobuf.decode(cluster.MemberAddResponse, bytes.fromhex(WRITTEN_BY_ETCD["MemberAddResponse"]))
    assert added.header == header.ResponseHeader(2**64 - 1, 2**63, 7, 2)
    assert added.member == cluster.Member(2**64 - 2, "m", ("p1", "p2"), ("c",), True)
    status = protobuf.decode(maintenance.StatusResponse, bytes.fromhex(WRITTEN_BY_ETCD["StatusResponse"]))
    assert (status.version, status.leader, status.errors, status.db_size_in_use) == ("3.7.3", 2, ("e",), 6)
    told = protobuf.decode(watch.WatchResponse, bytes.fromhex(WRITTEN_BY_ETCD["WatchResponse"]))
    pair = kv.KeyValue(b"k", 1, 2, 3, b"v", -4)
    assert told.events == (watch.Event(watch.EventType.DELETE, pair, pair),)
    assert (told.watch_id, told.compact_revision, told.cancel_reason) == (-1, 3, "c")
    request = protobuf.decode(kv.TxnRequest, bytes.fromhex(WRITTEN_BY_ETCD["TxnRequest"]))
    assert request.compare[0] == kv.Compare(kv.CompareResult.NOT_EQUAL, kv.CompareTarget.VERSION, b"a", version=0)
    assert request.success == (kv.RequestOp(put=kv.PutRequest(b"a")),)
