"""Random schemas of custom resources, and random objects that fit them."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

Json = dict[str, Any]
_WORDS = ("a", "b", "c", "d")


class Samples:
    """Makes schemas and values from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def maybe(self, chance: float = 0.5) -> bool:
        """True now and then."""
        return self.random.random() < chance

    def schema(self, depth: int = 0) -> Json:
        """A structural schema."""
        pick = self.random.randrange(14 if depth < 3 else 6)
        if pick < 4:
            return {"type": ("string", "integer", "boolean", "number")[pick]}
        if pick == 4:
            return {"x-kubernetes-int-or-string": True}
        if pick == 5:
            preserve = {"x-kubernetes-preserve-unknown-fields": True}
            return self.random.choice([preserve, {"type": "object"}, {"type": "object", **preserve}, _time()])
        if pick < 8:
            return self._map_type({"type": "object", "additionalProperties": self.schema(depth + 1)})
        if pick < 11:
            names = "abcde"[: self.random.randrange(1, 5)]
            found = {"type": "object", "properties": {name: self.schema(depth + 1) for name in names}}
            if self.maybe(0.15):
                found["x-kubernetes-preserve-unknown-fields"] = True
            return self._map_type(found)
        if pick == 11:
            return {"type": "array", "items": self.schema(depth + 1)}
        if pick == 12:
            kind = self.random.choice(["string", "integer", "boolean", "number"])
            return {"type": "array", "items": {"type": kind}, "x-kubernetes-list-type": "set"}
        return self._list_map(depth)

    def _map_type(self, schema: Json) -> Json:
        if self.maybe(0.2):
            schema["x-kubernetes-map-type"] = self.random.choice(["atomic", "granular"])
        return schema

    def _list_map(self, depth: int) -> Json:
        keys = ["k1", "k2"][: self.random.randrange(1, 3)]
        properties = {name: self.schema(depth + 1) for name in "abc"[: self.random.randrange(4)]}
        for key in keys:
            kind, default = self.random.choice([("string", "dd"), ("integer", 7), ("boolean", True)])
            properties[key] = {"type": kind, **({"default": default} if self.maybe(0.3) else {})}
        items = self._map_type({"type": "object", "properties": properties})
        listed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
        return {"type": "array", "items": items, **listed}

    def other_merging(self, schema: Json) -> Json:
        """The same schema with some containers turned from granular to atomic, or back."""
        changed = copy.deepcopy(schema)
        self._turn(changed)
        return changed

    def _turn(self, schema: Json) -> None:
        if schema.get("type") == "object" and self.maybe(0.3):
            schema["x-kubernetes-map-type"] = self.random.choice(["atomic", "granular"])
        if "x-kubernetes-list-type" in schema and self.maybe(0.4):
            schema["x-kubernetes-list-type"] = "atomic"
            schema.pop("x-kubernetes-list-map-keys", None)
        for below in [*schema.get("properties", {}).values(), schema.get("additionalProperties"), schema.get("items")]:
            if isinstance(below, dict):
                self._turn(below)

    def value(self, schema: Json, *, duplicates: bool = False, nulls: float = 0.05) -> Any:
        """A value that fits the schema."""
        if self.maybe(nulls):
            return None
        if "x-kubernetes-int-or-string" in schema:
            return self.random.choice([1, 2, "1", "é<"])
        kind = schema.get("type")
        choices = {
            "string": ["x", "y", "ü&"],
            "integer": [0, 1, 2],
            "number": [0, 1, 1.5],
            "boolean": [True, False],
        }
        if kind in choices:
            return self.random.choice(choices[kind])
        if kind == "array":
            return self._list(schema, duplicates, nulls)
        if kind is None:
            return self.anything()
        if isinstance(schema.get("additionalProperties"), dict):
            element = schema["additionalProperties"]
            return {
                self.random.choice(_WORDS): self.value(element, duplicates=duplicates, nulls=nulls)
                for _ in range(self.random.randrange(4))
            }
        if "properties" not in schema:
            return {self.random.choice(_WORDS): self.anything() for _ in range(self.random.randrange(3))}
        found = {
            name: self.value(each, duplicates=duplicates, nulls=nulls)
            for name, each in schema["properties"].items()
            if self.maybe(0.6)
        }
        if schema.get("x-kubernetes-preserve-unknown-fields") and self.maybe():
            found["zz"] = self.anything()
        return found

    def _list(self, schema: Json, duplicates: bool, nulls: float) -> list[Any]:
        kind = schema.get("x-kubernetes-list-type", "atomic")
        found: list[Any] = []
        seen: set[str] = set()
        for _ in range(self.random.randrange(5)):
            item = self.value(schema["items"], duplicates=duplicates, nulls=nulls if kind == "atomic" else 0)
            if kind != "atomic":
                identity = json.dumps(item) if kind == "set" else self._give_keys(item, schema)
                if not identity or (identity in seen and not (duplicates and self.maybe(0.4))):
                    continue
                seen.add(identity)
            found.append(item)
        return found

    def _give_keys(self, item: Json, schema: Json) -> str:
        identity = []
        for key in schema["x-kubernetes-list-map-keys"]:
            about = schema["items"]["properties"][key]
            if self.maybe(0.85):
                item[key] = self.value(about, nulls=0.02)
            else:
                item.pop(key, None)
            if key in item or "default" in about:
                identity.append(f"{key}={json.dumps(item.get(key, about.get('default')))}")
        return ",".join(identity)

    def anything(self, depth: int = 0) -> Any:
        """Any JSON value."""
        pick = self.random.randrange(9)
        if pick >= 5 and depth < 3:
            count = range(self.random.randrange(3))
            if pick < 7:
                return {self.random.choice(_WORDS): self.anything(depth + 1) for _ in count}
            return [self.anything(depth + 1) for _ in count]
        return (None, 1, "x", True, 1.5, 0, "y", False, 2)[pick]

    def metadata(self) -> Json:
        """The metadata of an object."""
        found: Json = {"name": "n", "namespace": "ns"}
        for name in ("labels", "annotations"):
            if self.maybe(0.3):
                found[name] = {self.random.choice(_WORDS): self.random.choice("xyz") for _ in range(2)}
        if self.maybe(0.2):
            found["finalizers"] = self.random.sample(["f/a", "f/b", "f/c"], self.random.randrange(3))
        if self.maybe(0.2):
            uids = self.random.sample(["1", "2"], self.random.randrange(1, 3))
            found["ownerReferences"] = [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": uid} for uid in uids]
        return found


def _time() -> Json:
    return {"type": "string", "format": "date-time"}
