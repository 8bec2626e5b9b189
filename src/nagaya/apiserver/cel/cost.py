"""What an expression can cost at most, estimated from the expression and the sizes its data can have.

The real server refuses rules by this estimate when a definition is written, so it has to come to the same numbers. The
estimate follows the tree: what a name or a step to a field costs, what calls cost by the sizes of their arguments, and
for loops the cost of a round times the number of rounds. Sizes are followed along: of literals, of results, and of data
by its path from a variable (`self`, `ports`, `@items`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from nagaya.apiserver.cel.extents import ITEMS, KEYS, VALUES, Extent
from nagaya.apiserver.cel.function_costs import (
    LIST,
    MAP,
    PER_CHARACTER,
    STRUCT,
    CallCost,
    Callee,
    Operand,
    estimate,
)
from nagaya.apiserver.cel.macros import RESULT
from nagaya.apiserver.cel.ranges import LARGEST, NOTHING, ONE, UNKNOWN, Range, exactly
from nagaya.apiserver.cel.syntax import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from nagaya.apiserver.cel.types import CelType, Kind

_INDICES: Final = "@indices"
_NONE_YET: Final = Range(LARGEST, 0)  # any size joined to it is that size
_ONE_ELEMENT: Final = frozenset({Kind.BOOL, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.DURATION, Kind.TIMESTAMP})
_WITH_FIELDS: Final = frozenset({Kind.MAP, Kind.STRUCT, Kind.PARAM})


class _Path:
    """The way to data, from a variable on.

    Paths of the real server share memory, and that shows: as long as there is room, what is appended to a path takes
    the place of what was appended to it before. A loop over `x.ports` whose body mentions `x.name` is thus taken to
    have as many rounds as the name has characters. Rules are accepted by such estimates, so it is the same here.
    """

    __slots__ = ("_length", "_room")

    def __init__(self, room: list[str], length: int) -> None:
        self._room = room
        self._length = length

    def then(self, step: str) -> _Path:
        """The path that goes on with this step."""
        room, length = self._room, self._length
        if length == len(room):
            room = [*room, *([""] * max(length, 1))]
        room[length] = step
        return _Path(room, length + 1)

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps as they are now."""
        return tuple(self._room[: self._length])


_NOWHERE: Final = _Path([], 0)


class _Entries(NamedTuple):
    """What is known of the parts of a list or map that the expression builds."""

    container: Kind
    key: Range
    value: Range

    def or_else(self, other: _Entries) -> _Entries:
        return _Entries(self.container, self.key.or_else(other.key), self.value.or_else(other.value))


class _Local(NamedTuple):
    """A variable of a loop, or a name for a value."""

    path: _Path
    size: Range | None
    entries: _Entries | None = None


def estimate_cost(root: Node, data: Extent) -> int:
    """The most that a checked expression costs on data of that extent, which is what all its variables stand for."""
    return _Estimator(data).cost(root).most


class _Estimator:
    """One walk over an expression. Nodes are told apart by identity: the same text may stand in several places."""

    def __init__(self, data: Extent) -> None:
        self._data = data
        self._paths: dict[int, _Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _Entries] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, node: Node) -> Range:
        match node:
            case Literal():
                return NOTHING
            case Ident():
                local = self._local(node)
                self._paths[id(node)] = _NOWHERE.then(node.name) if local is None else local.path
                return ONE
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case StructLiteral():
                return _total(self.cost(each.value) for each in node.fields).plus(STRUCT)
            case Comprehension():
                return self._bind(node) if _is_bind(node) else self._loop(node)
        raise AssertionError(f"{node!r} is no expression")

    def _select(self, node: Select) -> Range:
        if node.resolved is not None:
            self._paths[id(node)] = _NOWHERE.then(node.resolved)
            return ONE
        cost = self.cost(node.operand)
        if node.test_only:
            return cost
        self._paths[id(node)] = self._path(node.operand).then(node.field)
        return cost.plus(ONE) if node.operand.type.kind in _WITH_FIELDS else cost

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.args[0]).plus(ONE)
            self._copy(node, node.args[0])
            return cost
        costs, operands = [], []
        for each in node.args:
            costs.append(self.cost(each))
            operands.append(self._operand(each))
        if not node.overloads:
            return self._without_overload(node, costs)
        before, target = NOTHING, None
        if node.target is not None:
            before = self.cost(node.target)
            target = self._operand(node.target)
        whole, size = _NONE_YET, None
        for overload in node.overloads:
            callee = Callee(overload, target, operands, self._size_at)
            found = self._function(node, callee, costs)
            whole = whole.or_else(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.or_else(found.size)
            if node.function == "_[_]" and (step := _STEPS.get(overload.params[0].kind)):
                entries = self._entries_of(node.args[0])
                size = None if entries is None else entries.value
                self._paths[id(node)] = self._path(node.args[0]).then(step)
            if size is None:
                size = self._size(node)
        if size is not None:
            self._sizes[id(node)] = size
        return before.plus(whole)

    def _function(self, node: Call, callee: Callee, costs: list[Range]) -> CallCost:
        """The cost of one overload, arguments included."""
        if node.function == "_?_:_":
            self._join_entries(node, node.args[1], node.args[2])
            size = callee.args[1].size.or_else(callee.args[2].size)
            return CallCost(costs[0].plus(costs[1].or_else(costs[2])), size)
        if node.function == "_+_" and callee.overload.params[0].kind in (Kind.STRING, Kind.BYTES, Kind.LIST):
            self._join_entries(node, node.args[0], node.args[1])
            size = callee.args[0].size.plus(callee.args[1].size)
            work = ONE if callee.overload.params[0].kind is Kind.LIST else size.scaled(PER_CHARACTER)
            return CallCost(work.plus(_total(costs)), size)
        found = estimate(node.function, callee) or CallCost(ONE)
        return CallCost(found.cost.plus(_total(costs)), found.size)

    @staticmethod
    def _without_overload(node: Call, costs: list[Range]) -> Range:
        """Operators that the checker knows by themselves. Logical ones may stop after the first operand."""
        if node.function == "_?._":
            return _total(costs).plus(ONE)
        return Range(costs[0].least, _total(costs).most)

    def _join_entries(self, node: Node, one: Node, other: Node) -> None:
        left, right = self._entries_of(one), self._entries_of(other)
        if left is not None and right is not None:
            self._entries[id(node)] = left.or_else(right)

    def _list(self, node: ListLiteral) -> Range:
        cost = _total(self.cost(each) for each in node.elements)
        self._entries[id(node)] = _Entries(Kind.LIST, ONE, self._joined(node.elements))
        return cost.plus(LIST)

    def _map(self, node: MapLiteral) -> Range:
        keys = [each.key for each in node.entries if each.key is not None]
        values = [each.value for each in node.entries]
        cost = _total(self.cost(each) for each in (*keys, *values))
        self._entries[id(node)] = _Entries(Kind.MAP, self._joined(keys), self._joined(values))
        return cost.plus(MAP)

    def _joined(self, nodes: list[Node]) -> Range:
        size = _NONE_YET if nodes else NOTHING
        for each in nodes:
            size = size.or_else(self._size(each) or UNKNOWN)
        return size

    def _loop(self, node: Comprehension) -> Range:
        cost = self.cost(node.range).plus(self.cost(node.init))
        self._push(node.accumulator, self._named(node.init))
        variables = self._variables(node)
        for name, local in variables:
            self._push(name, local)
        each_round = self.cost(node.condition)
        each_round = self.cost(node.step).plus(each_round)
        for name, _ in variables:
            self._locals[name].pop()
        cost = cost.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        rounds = self._size(node.range) or UNKNOWN
        if isinstance(node.init, Literal):
            self._sizes[id(node)] = self._size(node.init) or UNKNOWN
        elif isinstance(node.init, (ListLiteral, MapLiteral)):
            self._sizes[id(node)] = rounds
            if (entries := self._entries_of(node.step)) is not None:
                self._entries[id(node)] = entries
        return cost.plus(rounds.times(each_round))

    def _variables(self, node: Comprehension) -> list[tuple[str, _Local]]:
        """The loop's variables: the items of a list or keys of a map, or with two names keys and values."""
        entries, path = self._entries_of(node.range), self._path(node.range)
        is_list = (entries.container if entries is not None else node.range.type.kind) is Kind.LIST
        key, value = (None, None) if entries is None else (entries.key, entries.value)
        if node.variable2:
            first = _Local(path.then(_INDICES if is_list else KEYS), key)
            second = _Local(path.then(ITEMS if is_list else VALUES), value)
            return [(node.variable, first), (node.variable2, second)]
        only = _Local(path.then(ITEMS), value) if is_list else _Local(path.then(KEYS), key)
        return [(node.variable, only)]

    def _bind(self, node: Comprehension) -> Range:
        cost = self.cost(node.range).plus(self.cost(node.init))
        self._push(node.accumulator, self._named(node.init))
        cost = cost.plus(self.cost(node.result))
        self._locals[node.accumulator].pop()
        self._copy(node, node.result)
        return cost

    def _named(self, node: Node) -> _Local:
        return _Local(self._path(node), self._size(node), self._entries_of(node))

    def _push(self, name: str, local: _Local) -> None:
        self._locals.setdefault(name, []).append(local)

    def _local(self, node: Node) -> _Local | None:
        stack = self._locals.get(node.name) if isinstance(node, Ident) else None
        return stack[-1] if stack else None

    def _path(self, node: Node) -> _Path:
        local = self._local(node)
        return local.path if local is not None else self._paths.get(id(node), _NOWHERE)

    def _operand(self, node: Node) -> Operand:
        path = self._path(node).steps
        return Operand(node, node.type, () if path[:1] == (RESULT,) else path, self._size(node) or UNKNOWN)

    def _copy(self, node: Node, source: Node) -> None:
        if (size := self._size(source)) is not None:
            self._sizes[id(node)] = size
        if (entries := self._entries_of(source)) is not None:
            self._entries[id(node)] = entries

    def _size(self, node: Node) -> Range | None:
        """How large a node's value can be, None if nothing is known of it."""
        if (known := self._sizes.get(id(node))) is not None:
            return known
        if (written := _written_size(node)) is not None:
            return written
        if (extent := self._extent(self._path(node).steps)) is not None:
            size = self._sizes[id(node)] = Range(0, extent.most)
            return size
        if _is_one_element(node.type):
            return ONE
        local = self._local(node)
        return None if local is None else local.size

    def _entries_of(self, node: Node) -> _Entries | None:
        known = self._entries.get(id(node))
        if known is None and (local := self._local(node)) is not None:
            return local.entries
        return known

    def _size_at(self, path: tuple[str, ...]) -> Range:
        extent = self._extent(path)
        return UNKNOWN if extent is None else Range(0, extent.most)

    def _extent(self, path: tuple[str, ...]) -> Extent | None:
        """What is at a path. All variables are taken for the same data, as `self` and `oldSelf` are."""
        found: Extent | None = self._data if path else None
        for step in path[1:]:
            if found is None:
                break
            found = found.below(step)
        return found


_STEPS: Final = {Kind.LIST: ITEMS, Kind.MAP: VALUES}


def _total(costs: Iterable[Range]) -> Range:
    total = NOTHING
    for each in costs:
        total = total.plus(each)
    return total


def _is_bind(node: Comprehension) -> bool:
    """Whether it only gives a value a name. Such a loop has no round."""
    return (
        isinstance(node.range, ListLiteral)
        and not node.range.elements
        and isinstance(node.condition, Literal)
        and node.condition.value is False
    )


def _written_size(node: Node) -> Range | None:
    if isinstance(node, Literal):
        return exactly(len(node.value) if isinstance(node.value, (str, bytes)) else 1)
    if isinstance(node, ListLiteral):
        return exactly(len(node.elements))
    return exactly(len(node.entries)) if isinstance(node, MapLiteral) else None


def _is_one_element(kind: CelType) -> bool:
    if kind.kind is Kind.OPAQUE and kind.name == "optional_type":
        return _is_one_element(kind.params[0])
    return kind.kind in _ONE_ELEMENT
