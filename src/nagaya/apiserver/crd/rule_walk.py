"""Where the rules of a schema apply, and against which old values.

Rules are evaluated for every value that is there and not null, from the outside in. A rule that mentions `oldSelf`
needs the value that this one replaces: found by field name, by map key, or by the keys of a list of type `map`. A rule
that does not mention it is not held against a value that the update left alone; it becomes a warning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.apiserver.crd.ratchet import Correlation, MapList
from nagaya.apiserver.crd.rules import Budget, RuleCompiler, RuleFailure, Rules
from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.meta.field_errors import OMITTED, Cause, FieldError, Path, invalid
from nagaya.apiserver.schema.types import MISSING

_OUT_OF_BUDGET: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


@dataclass(slots=True)
class RuleTree:
    """The rules of a schema node and of the nodes below it that have any."""

    schema: Schema
    rules: Rules | None
    members: dict[str, RuleTree] = field(default_factory=dict)
    entries: RuleTree | None = None
    items: RuleTree | None = None


def compile_schema(schema: Schema, compile_rules: RuleCompiler, *, resource_root: bool) -> RuleTree | None:
    """The tree of all rules in a schema, None if it has none."""
    members = {
        name: tree
        for name, each in sorted(schema.properties.items())
        if (tree := compile_schema(each, compile_rules, resource_root=each.embedded)) is not None
    }
    entries, items = (
        compile_schema(each, compile_rules, resource_root=each.embedded) if each is not None else None
        for each in (schema.values, schema.items)
    )
    rules = compile_rules(schema.raw, resource_root=resource_root) if schema.rules else None
    if rules is None and not members and entries is None and items is None:
        return None
    return RuleTree(schema, rules, members, entries, items)


class RuleWalk:
    """One evaluation of all rules on an object."""

    def __init__(self, budget: Budget | None = None) -> None:
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []
        self._budget = budget or Budget()
        self._stopped = False

    def check(
        self,
        tree: RuleTree,
        value: Any,
        old: Any,
        path: Path,
        correlation: Correlation | None = None,
    ) -> None:
        """Evaluate everything at and below a value. `old` is MISSING if there is nothing it replaces."""
        self._visit(tree, value, old, path, _Unchanged(correlation, None))

    def _visit(self, tree: RuleTree, value: Any, old: Any, path: Path, unchanged: _Unchanged) -> None:
        if value is None or self._stopped:
            return
        if old is None:
            old = MISSING
        if tree.rules is not None:
            self._evaluate(tree.rules, tree.schema, value, old, path, unchanged)
        if type(value) is list:
            self._visit_list(tree, value, old, path, unchanged)
        elif type(value) is dict:
            self._visit_object(tree, value, old, path, unchanged)

    def _evaluate(self, rules: Rules, schema: Schema, value: Any, old: Any, path: Path, unchanged: _Unchanged) -> None:
        if self._budget.left <= 0:
            self.errors.append(invalid(path, schema.type, _OUT_OF_BUDGET))
            self._stopped = True
            return
        for failure in rules.check(value, old, self._budget):
            error = _place(failure, schema, value, path)
            if not failure.broken and not failure.transition and unchanged.holds():
                self.warnings.append(str(error))
            else:
                self.errors.append(error)
            if failure.fatal:
                self._stopped = True
                return

    def _visit_list(self, tree: RuleTree, value: list[Any], old: Any, path: Path, unchanged: _Unchanged) -> None:
        if tree.items is None:
            return
        # Only in maps can an item be told from another.
        old_items = MapList(tree.schema, old) if isinstance(old, list) else None
        for position, each in enumerate(value):
            old_item = old_items.find(each) if old_items is not None else MISSING
            self._visit(tree.items, each, old_item, path.index(position), unchanged.index(position))

    def _visit_object(self, tree: RuleTree, value: dict[str, Any], old: Any, path: Path, unchanged: _Unchanged) -> None:
        known = old if isinstance(old, dict) else {}
        if tree.entries is not None:
            for name, each in value.items():
                old_entry = known.get(name, MISSING)
                self._visit(tree.entries, each, old_entry, path.key(name), unchanged.key(name))
        for name, below in tree.members.items():
            if name in value:
                old_member = known.get(name, MISSING)
                self._visit(below, value[name], old_member, path.child(name), unchanged.key(name))


def _place(failure: RuleFailure, schema: Schema, value: Any, path: Path) -> FieldError:
    where = path.child(failure.field_path) if failure.field_path else path
    if failure.broken:
        shown: Any = schema.type
    else:
        shown = OMITTED if schema.type in ("object", "array") else value
    detail = "" if failure.cause is Cause.DUPLICATE else failure.message
    return FieldError(failure.cause, str(where), shown, detail)


class _Unchanged:
    """Whether the update left a value alone, or the nearest value around it that can be matched with an old one."""

    __slots__ = ("_around", "_current")

    def __init__(self, current: Correlation | None, around: Correlation | None) -> None:
        self._current = current
        self._around = around

    def holds(self) -> bool:
        nearest = self._current or self._around
        return nearest is not None and nearest.unchanged

    def key(self, name: str) -> _Unchanged:
        if self._current is None:
            return self
        if self._around is None and name in ("apiVersion", "kind"):
            return _Unchanged(None, None)
        return _Unchanged(self._current.key(name), self._current)

    def index(self, position: int) -> _Unchanged:
        return self if self._current is None else _Unchanged(self._current.index(position), self._current)
