"""What a client of one OpenAPI document would notice if another replaced it."""

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

# Access levels, from few callers to all.
ACCESS = ("H", "H,B/W", "H,B/R", "anon")
LOWER = ("minimum", "minLength", "minItems")
UPPER = ("maximum", "maxLength", "maxItems")


def breaks(old: Schema, new: Schema) -> list[str]:
    """What a client of the old document would notice, one sentence each."""
    return list(_Comparison(old, new).run())


class _Comparison:
    """One walk over both documents; each pair of schemas is compared once, even if recursive."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self.old, self.new = old, new
        self._seen: set[tuple[str, str, bool]] = set()

    def run(self) -> Iterator[str]:
        for path, methods in self.old["paths"].items():
            for method, operation in methods.items():
                name = f"{method.upper()} {path}"
                found = self.new["paths"].get(path, {}).get(method)
                if found is None:
                    yield f"{name} is gone"
                else:
                    yield from self._operation(name, operation, found)

    def _operation(self, name: str, old: Schema, new: Schema) -> Iterator[str]:
        if old["operationId"] != new["operationId"]:
            yield f"{name} has another operation id"
        if set(old["tags"]) - set(new["tags"]):
            yield f"{name} lost a tag"
        if ACCESS.index(new["x-access"]) < ACCESS.index(old["x-access"]):
            yield f"{name} is for fewer callers"
        yield from self._parameters(name, old, new)
        yield from self._body(name, old.get("requestBody"), new.get("requestBody"))
        for status, answer in old["responses"].items():
            if status not in new["responses"]:
                yield f"{name} lost its answer {status}"
                continue
            yield from self._answer(f"{name} {status}", answer, new["responses"][status])

    def _parameters(self, name: str, old: Schema, new: Schema) -> Iterator[str]:
        before = self._by_name(self.old, old)
        after = self._by_name(self.new, new)
        for key, parameter in before.items():
            where = f"{name}, parameter {key[1]}"
            if key not in after:
                yield f"{where} is gone"
                continue
            if after[key].get("required") and not parameter.get("required"):
                yield f"{where} is required now"
            yield from self._schema(where, parameter["schema"], after[key]["schema"], sent=True)
        for key in after.keys() - before.keys():
            if after[key].get("required"):
                yield f"{name}, parameter {key[1]} is new and required"

    def _by_name(self, root: Schema, operation: Schema) -> dict[tuple[str, str], Schema]:
        found = [self._resolved(root, one) for one in operation.get("parameters", ())]
        return {(one["in"], one["name"]): one for one in found}

    def _body(self, name: str, old: Schema | None, new: Schema | None) -> Iterator[str]:
        if old is None:
            if new is not None and new.get("required"):
                yield f"{name} needs a body now"
            return
        if new is None:
            yield f"{name} takes no body any more"
            return
        if new.get("required") and not old.get("required"):
            yield f"{name} needs its body now"
        yield from self._contents(f"{name} body", old, new, sent=True)

    def _answer(self, name: str, old: Schema, new: Schema) -> Iterator[str]:
        old, new = self._resolved(self.old, old), self._resolved(self.new, new)
        for header in old.get("headers", {}).keys() - new.get("headers", {}).keys():
            yield f"{name} lost its header {header}"
        yield from self._contents(name, old, new, sent=False)

    def _contents(self, name: str, old: Schema, new: Schema, *, sent: bool) -> Iterator[str]:
        for kind, content in old.get("content", {}).items():
            found = new.get("content", {}).get(kind)
            if found is None:
                yield f"{name} has no {kind} any more"
            else:
                yield from self._schema(name, content["schema"], found["schema"], sent=sent)

    def _schema(self, name: str, old: Schema, new: Schema, *, sent: bool) -> Iterator[str]:
        """Compare two schemas of what clients send, or else receive."""
        pair = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True), sent)
        if pair in self._seen:
            return
        self._seen.add(pair)
        before, after = self._branches(self.old, old), self._branches(self.new, new)
        if len(before) == len(after) == 1:
            # A single choice has no name on the wire, so only its content is compared.
            (was,), (found,) = before.values(), after.values()
            if _kind(was) != _kind(found):
                yield f"{name} cannot be {_kind(was)} any more"
            yield from self._plain(name, was, found, sent=sent)
            return
        for key in before.keys() - after.keys():
            yield f"{name} cannot be {key} any more"
        for key in after.keys() - before.keys():
            # Clients must expect new kinds of object, like new values of enums, but not a new null.
            if not sent and not key.startswith("#"):
                yield f"{name} can be {key} now"
        for key in before.keys() & after.keys():
            yield from self._plain(name, before[key], after[key], sent=sent)

    def _branches(self, root: Schema, schema: Schema) -> dict[str, Schema]:
        """The alternatives for a value, by the name of their schema or type."""
        choices = schema.get("anyOf") or schema.get("oneOf")
        if choices is None and "$ref" in schema:
            target = self._resolved(root, schema)
            choices = target.get("anyOf") or target.get("oneOf")
        if choices is not None:
            return {
                key: branch
                for choice in choices
                for key, branch in self._branches(root, choice).items()
            }
        key = schema.get("$ref")
        flat = self._flat(root, schema)
        kinds = flat.get("type", "any")
        if isinstance(kinds, str) or key is not None:
            return {key or str(kinds): flat}
        return {kind: {**flat, "type": kind} for kind in kinds}

    def _resolved(self, root: Schema, schema: Schema) -> Schema:
        while "$ref" in schema:
            found: Any = root
            for part in schema["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            schema = found
        return schema

    def _flat(self, root: Schema, schema: Schema) -> Schema:
        """The schema with its parts (``allOf``) merged."""
        schema = self._resolved(root, schema)
        made: Schema = {key: value for key, value in schema.items() if key != "allOf"}
        for part in schema.get("allOf", ()):
            flat = self._flat(root, part)
            made = {
                **flat,
                **made,
                "properties": _both(flat.get("properties", {}), made.get("properties", {})),
                "required": [*flat.get("required", ()), *made.get("required", ())],
            }
        return made

    def _plain(self, name: str, old: Schema, new: Schema, *, sent: bool) -> Iterator[str]:
        if "const" in old or "const" in new:
            old, new = _one_value(old), _one_value(new)
        if old.get("type") != new.get("type"):
            yield f"{name} has another type"
        for word in ("const", "format"):
            if old.get(word) != new.get(word):
                yield f"{name} has another {word}"
        yield from _enum(name, old, new)
        if sent:
            yield from _limits(name, old, new)
        yield from self._properties(name, old, new, sent=sent)
        for word in ("items", "additionalProperties"):
            inner, outer = old.get(word), new.get(word)
            if isinstance(inner, dict) and isinstance(outer, dict):
                yield from self._schema(f"{name}[]", inner, outer, sent=sent)

    def _properties(self, name: str, old: Schema, new: Schema, *, sent: bool) -> Iterator[str]:
        before, after = old.get("properties", {}), new.get("properties", {})
        needed_before, needed_after = set(old.get("required", ())), set(new.get("required", ()))
        for key, schema in before.items():
            if key in after:
                yield from self._schema(f"{name}.{key}", schema, after[key], sent=sent)
            else:
                yield f"{name}.{key} is gone"
        if sent:
            yield from (f"{name}.{key} is required now" for key in needed_after - needed_before)
        else:
            yield from (f"{name}.{key} may be missing now" for key in needed_before - needed_after)


def _kind(schema: Schema) -> str:
    return str(schema.get("type", "any"))


def _one_value(schema: Schema) -> Schema:
    """The schema with ``const`` in place of an enum of one value."""
    values = schema.get("enum", ())
    if len(values) != 1:
        return schema
    return {key: value for key, value in schema.items() if key != "enum"} | {"const": values[0]}


def _both(first: Schema, second: Schema) -> Schema:
    """The properties of two parts of one schema; a property of both must satisfy both."""
    shared = {key: {"allOf": [first[key], second[key]]} for key in first.keys() & second.keys()}
    return {**first, **second, **shared}


def _enum(name: str, old: Schema, new: Schema) -> Iterator[str]:
    if "enum" not in new:
        return
    if "enum" not in old:
        yield f"{name} is an enum now"
    for value in set(old.get("enum", ())) - set(new["enum"]):
        yield f"{name} lost its value {value}"


def _limits(name: str, old: Schema, new: Schema) -> Iterator[str]:
    if "pattern" in new and old.get("pattern") != new["pattern"]:
        yield f"{name} has another pattern"
    if old.get("default") != new.get("default"):
        yield f"{name} has another default"
    if new.get("additionalProperties") is False and old.get("additionalProperties") is not False:
        yield f"{name} refuses unknown fields now"
    for word in LOWER:
        if word in new and new[word] > old.get(word, float("-inf")):
            yield f"{name} has a higher {word}"
    for word in UPPER:
        if word in new and new[word] < old.get(word, float("inf")):
            yield f"{name} has a lower {word}"
