"""Go types as the oracle describes them: turned into Nagaya's types, and into random values and patches."""

from __future__ import annotations

import random
from typing import Any

from nagaya.apiserver.schema.types import Field, List, Map, Scalar, Struct, Type, Untyped

_OPAQUE: dict[str, Any] = {
    "Quantity": ["1", "500m"],
    "Time": ["2020-01-01T00:00:00Z", "2021-06-01T00:00:00Z"],
    "MicroTime": ["2020-01-01T00:00:00.000000Z"],
    "Duration": ["1s"],
    "IntOrString": [80, "http"],
    "RawExtension": [{"a": {"b": 1}}, {"a": [1]}],
    "FieldsV1": [{"f:a": {}}],
}


class Shapes:
    """All the structs below one kind."""

    def __init__(
        self, described: dict[str, Any], source: random.Random, words: dict[str, list[str]] | None = None
    ) -> None:
        self._words = words or {}
        self._members: dict[str, dict[str, Any]] = described["structs"]
        self._root = described["root"]
        self._random = source
        self._made: dict[str, Struct] = {}

    def struct(self) -> Struct:
        """The kind as Nagaya describes types."""
        made = self._type(self._root)
        assert isinstance(made, Struct)
        return made

    def _type(self, shape: dict[str, Any]) -> Type:
        match shape["sort"]:
            case "struct":
                name = shape["name"]
                if name not in self._made:
                    self._made[name] = Struct(lambda: self._fields(name), name=name)
                return self._made[name]
            case "map":
                return Map(self._type(shape["element"]))
            case "list":
                return List(self._type(shape["element"]))
            case "opaque":
                return _opaque(shape["name"])
        names = {"bool": "boolean", "string": "string", "float64": "number", "slice": "string"}
        name = shape["name"]
        return Scalar(names.get(name, "integer"), "byte" if name == "slice" else "" if name in names else name)

    def _fields(self, name: str) -> dict[str, Field]:
        return {
            member: Field(
                self._type(each["type"]),
                patch_strategy=frozenset(filter(None, each["strategy"].split(","))),
                merge_key=each["key"],
                pointer=each["type"]["pointer"],
            )
            for member, each in self._members[name].items()
        }

    def value(self, shape: dict[str, Any] | None = None, depth: int = 0, member: str = "") -> Any:
        """A random value of a type. Texts of some members are taken from what they can be."""
        shape = shape or self._root
        choose = self._random.choice
        match shape["sort"]:
            case "struct":
                members = self._members[shape["name"]]
                chance = 0.5 if depth < 3 else 0.25
                picked = [name for name in members if self._random.random() < chance] if depth < 6 else []
                return {name: self.value(members[name]["type"], depth + 1, name) for name in picked}
            case "map":
                keys = self._random.sample(["a", "b", "c"], self._random.randrange(4))
                return {key: self.value(shape["element"], depth + 1) for key in keys}
            case "list":
                count = self._random.choice([0, 1, 2, 3, 4])
                items = [self.value(shape["element"], depth + 1, member) for _ in range(count)]
                # Duplicate scalars are merged differently depending on how much memory Go has set aside for the list.
                return list(dict.fromkeys(items)) if shape["element"]["sort"] == "scalar" else self._with_keys(items)
            case "opaque":
                return choose(_OPAQUE.get(shape["name"], ["x"]))
            case _:
                return self._scalar(shape["name"], member)

    def _scalar(self, name: str, member: str) -> Any:
        if self._words and name == "string" and member in self._words:
            return self._random.choice(self._words[member])
        if name == "bool":
            return self._random.random() < 0.5
        if name == "slice":
            return "YQ=="
        return self._random.choice(["a", "b", "c", "d"]) if name == "string" else self._random.randrange(1, 5)

    def _with_keys(self, items: list[Any]) -> list[Any]:
        """Lists whose items can be told apart, most of the time."""
        for item in items:
            if isinstance(item, dict) and not self._words and self._random.random() < 0.97:
                for key in ("name", "mountPath", "devicePath", "topologyKey", "uid", "type", "ip"):
                    item[key] = self._random.choice(["a", "b", "c", "d"])
                for key in ("containerPort", "port"):
                    item[key] = self._random.randrange(1, 5)
        return items

    def patch(self, shape: dict[str, Any] | None = None, depth: int = 0) -> Any:
        """A random patch for a value of a type."""
        shape = shape or self._root
        if shape["sort"] == "map":
            made = self.value(shape, depth)
            return {key: None if self._random.random() < 0.3 else value for key, value in made.items()}
        if shape["sort"] != "struct":
            return self.value(shape, depth)
        members = self._members[shape["name"]]
        chance = 0.5 if depth < 3 else 0.3
        made = {}
        for name in [name for name in members if self._random.random() < chance and depth < 6]:
            if self._random.random() < 0.1:
                made[name] = None
                continue
            if members[name]["type"]["sort"] == "list":
                self._patch_list(made, name, members[name], depth)
            else:
                made[name] = self.patch(members[name]["type"], depth + 1)
        self._directives(made)
        return made

    def _directives(self, made: dict[str, Any]) -> None:
        roll = self._random.random()
        if roll < 0.03:
            made["$patch"] = self._random.choice(["replace", "delete", "replace", "delete", "merge", "x", 1])
        elif roll < 0.08:
            keys = [key for key in made if not key.startswith("$")]
            made["$retainKeys"] = keys if self._random.random() < 0.9 else keys[1:]

    def _patch_list(self, made: dict[str, Any], name: str, member: dict[str, Any], depth: int) -> None:
        element = member["type"]["element"]
        key = member["key"]
        items = self._with_keys([self.patch(element, depth + 1) for _ in range(self._random.randrange(4))])
        roll = self._random.random()
        if element["sort"] == "struct" and key:
            seen: set[Any] = set()
            unique = []
            for item in items:
                if item.get(key) not in seen or self._random.random() < 0.05:
                    seen.add(item.get(key))
                    unique.append(item)
            for item in unique:
                if key in item and self._random.random() < 0.15:
                    item.clear()
                    item.update({key: self._random.choice(["a", "b", "c", 1, 2]), "$patch": "delete"})
            if self._random.random() < 0.04:
                unique.append({"$patch": "replace"})
            made[name] = unique
            if roll < 0.4:
                self._order(
                    made, name, [{key: item[key]} for item in unique if key in item and "$patch" not in item], key
                )
        else:
            if roll < 0.2:
                made[f"$deleteFromPrimitiveList/{name}"] = items
            elif roll < 0.4:
                unique = list(dict.fromkeys(items)) if element["sort"] == "scalar" else items
                made[name] = unique
                self._order(made, name, list(unique), "")
            else:
                made[name] = items

    def _order(self, made: dict[str, Any], name: str, order: list[Any], key: str) -> None:
        extra = self._random.choice(["a", "b", "c", "d"])
        values = [item[key] for item in order] if key else order
        if extra not in values and (not values or type(values[0]) is str):
            order.insert(self._random.randrange(len(order) + 1), {key: extra} if key else extra)
        if self._random.random() < 0.1:
            self._random.shuffle(order)
        made[f"$setElementOrder/{name}"] = order
        if self._random.random() < 0.2:
            made.pop(name, None)


def _opaque(name: str) -> Type:
    formats = {"Quantity": "quantity", "Time": "date-time", "MicroTime": "micro-time", "Duration": "duration"}
    if name in formats:
        return Scalar("string", formats[name])
    if name == "IntOrString":
        return Scalar("int-or-string")
    return Untyped({"RawExtension": "raw", "FieldsV1": "fields"}.get(name, "json"))
