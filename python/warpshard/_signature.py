"""The kinds of a kernel's parameters, from its mangled name or its source; they determine the conversion of Python numbers."""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["Kind", "of_mangled", "of_source"]

Kind = Literal["pointer", "integer", "float"] | None
"""Kind of a parameter; None for structures, parameters of templates and unknown types."""

_BUILTIN: dict[str, Kind] = {**dict.fromkeys("bcahstijlmxyw", "integer"), **dict.fromkeys("fd", "float")}


def of_mangled(name: str) -> list[Kind] | None:
    """Returns the kinds of the parameters of `_Z5saxpyifPKfPf`; None for a name that is not mangled or in a namespace or a template."""
    head = re.match(r"_Z(\d+)", name)
    if head is None:
        return None
    rest = name[head.end() + int(head.group(1)) :]
    if not rest or rest.startswith("I"):
        return None
    if rest == "v":
        return []
    kinds: list[Kind] = []
    while rest:
        kind, rest = _type(rest)
        kinds.append(kind)
        if rest == "?":
            return None
    return kinds


def _type(text: str) -> tuple[Kind, str]:
    """Returns the kind of the type at the start of a text, and the rest of the text; `?` if the text cannot be parsed."""
    if text[0] in "PR":
        return "pointer", _type(text[1:])[1] if len(text) > 1 else "?"
    if text[0] in "KVr":
        return _type(text[1:]) if len(text) > 1 else (None, "?")
    if text[0] in _BUILTIN:
        return _BUILTIN[text[0]], text[1:]
    if text.startswith("Dh"):
        return "float", text[2:]
    if text[0] == "v":
        return None, text[1:]
    named = re.match(r"(\d+)", text)
    if named:
        return None, text[named.end() + int(named.group(1)) :]
    # A substitution refers to an earlier pointer or structure; its kind is not resolved.
    again = re.match(r"S[0-9A-Z]*_", text)
    return (None, text[again.end() :]) if again else (None, "?")


_INTEGER = r"\b(int|unsigned|signed|long|short|char|bool|size_t|ptrdiff_t|u?int(8|16|32|64)_t|u(int|char|short|long))\b"


def of_source(source: str, name: str) -> list[Kind] | None:
    """Returns the kinds of a kernel's parameters in its source; None if the kernel is not found or its parameters contain parentheses or templates.
    """
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.S)
    found = re.search(r"__global__[^;{}()]*(?:__launch_bounds__\s*\([^)]*\)[^;{}()]*)?\b" + re.escape(name) + r"\s*\(([^()]*)\)", plain)
    if found is None or "<" in found.group(1):
        return None
    parameters = found.group(1).strip()
    return [] if parameters in ("", "void") else [_declared(one) for one in parameters.split(",")]


def _declared(text: str) -> Kind:
    if "*" in text or "[" in text:
        return "pointer"
    if re.search(r"\b(float|double|half|__half)\b", text):
        return "float"
    return "integer" if re.search(_INTEGER, text) else None
