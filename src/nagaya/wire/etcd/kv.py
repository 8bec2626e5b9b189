"""Keys, values and transactions."""

from __future__ import annotations

from typing import Annotated

from nagaya.wire.etcd.header import NO_HEADER, ResponseHeader
from nagaya.wire.protobuf import Enumeration, Int64, Message


class KeyValue(Message, frozen=True):
    """A key as it was at some revision."""

    key: Annotated[bytes, 1] = b""
    create_revision: Annotated[Int64, 2] = 0
    mod_revision: Annotated[Int64, 3] = 0
    version: Annotated[Int64, 4] = 0
    value: Annotated[bytes, 5] = b""
    lease: Annotated[Int64, 6] = 0


class SortOrder(Enumeration):
    """Which comes first."""

    NONE = 0
    ASCEND = 1
    DESCEND = 2


class SortTarget(Enumeration):
    """By what keys are sorted."""

    KEY = 0
    VERSION = 1
    CREATE = 2
    MOD = 3
    VALUE = 4


class RangeRequest(Message, frozen=True):
    """Which keys are there from `key` up to, not including, `range_end`; without an end, that key alone."""

    key: Annotated[bytes, 1] = b""
    range_end: Annotated[bytes, 2] = b""
    limit: Annotated[Int64, 3] = 0
    revision: Annotated[Int64, 4] = 0
    sort_order: Annotated[SortOrder, 5] = SortOrder.NONE
    sort_target: Annotated[SortTarget, 6] = SortTarget.KEY
    serializable: Annotated[bool, 7] = False
    keys_only: Annotated[bool, 8] = False
    count_only: Annotated[bool, 9] = False
    min_mod_revision: Annotated[Int64, 10] = 0
    max_mod_revision: Annotated[Int64, 11] = 0
    min_create_revision: Annotated[Int64, 12] = 0
    max_create_revision: Annotated[Int64, 13] = 0


class RangeResponse(Message, frozen=True):
    """The keys, and how many there are without the limit."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    kvs: Annotated[tuple[KeyValue, ...], 2] = ()
    more: Annotated[bool, 3] = False
    count: Annotated[Int64, 4] = 0


class PutRequest(Message, frozen=True):
    """Write a key."""

    key: Annotated[bytes, 1] = b""
    value: Annotated[bytes, 2] = b""
    lease: Annotated[Int64, 3] = 0
    prev_kv: Annotated[bool, 4] = False
    ignore_value: Annotated[bool, 5] = False
    ignore_lease: Annotated[bool, 6] = False


class PutResponse(Message, frozen=True):
    """What was there before, if that was asked for."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    prev_kv: Annotated[KeyValue | None, 2] = None


class DeleteRangeRequest(Message, frozen=True):
    """Delete keys."""

    key: Annotated[bytes, 1] = b""
    range_end: Annotated[bytes, 2] = b""
    prev_kv: Annotated[bool, 3] = False


class DeleteRangeResponse(Message, frozen=True):
    """How many keys were deleted."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    deleted: Annotated[Int64, 2] = 0
    prev_kvs: Annotated[tuple[KeyValue, ...], 3] = ()


class CompareResult(Enumeration):
    """How a key must stand to what it is compared with."""

    EQUAL = 0
    GREATER = 1
    LESS = 2
    NOT_EQUAL = 3


class CompareTarget(Enumeration):
    """What of a key is compared."""

    VERSION = 0
    CREATE = 1
    MOD = 2
    VALUE = 3
    LEASE = 4


class Compare(Message, frozen=True):
    """A condition of a transaction. Exactly the field that the target names is set."""

    result: Annotated[CompareResult, 1] = CompareResult.EQUAL
    target: Annotated[CompareTarget, 2] = CompareTarget.VERSION
    key: Annotated[bytes, 3] = b""
    version: Annotated[Int64 | None, 4] = None
    create_revision: Annotated[Int64 | None, 5] = None
    mod_revision: Annotated[Int64 | None, 6] = None
    value: Annotated[bytes | None, 7] = None
    lease: Annotated[Int64 | None, 8] = None
    range_end: Annotated[bytes, 64] = b""


class RequestOp(Message, frozen=True):
    """A step of a transaction: exactly one of them."""

    range: Annotated[RangeRequest | None, 1] = None
    put: Annotated[PutRequest | None, 2] = None
    delete_range: Annotated[DeleteRangeRequest | None, 3] = None


class ResponseOp(Message, frozen=True):
    """The answer to a step."""

    range: Annotated[RangeResponse | None, 1] = None
    put: Annotated[PutResponse | None, 2] = None
    delete_range: Annotated[DeleteRangeResponse | None, 3] = None


class TxnRequest(Message, frozen=True):
    """If all conditions hold, these steps, otherwise those."""

    compare: Annotated[tuple[Compare, ...], 1] = ()
    success: Annotated[tuple[RequestOp, ...], 2] = ()
    failure: Annotated[tuple[RequestOp, ...], 3] = ()


class TxnResponse(Message, frozen=True):
    """Whether the conditions held, and what the steps gave."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    succeeded: Annotated[bool, 2] = False
    responses: Annotated[tuple[ResponseOp, ...], 3] = ()


class CompactionRequest(Message, frozen=True):
    """Forget what was before a revision."""

    revision: Annotated[Int64, 1] = 0
    physical: Annotated[bool, 2] = False
