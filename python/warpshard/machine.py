"""Machines as objects: every key of a machine file is an attribute, with its description, unit and range."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import _native
from ._native import Machine as _Native

__all__ = ["Key", "Machine", "Node", "machines"]

Setting = bool | int | float | str | list[str]


@dataclass(frozen=True)
class Key:
    """A key of a machine: its description, its valid values, and its value."""

    path: str
    """The dotted name, as in machine files and `--set`."""
    doc: str
    """Description of the key."""
    takes: str
    """Valid values: unit and range."""
    choices: tuple[tuple[str, str], ...]
    """The valid words, each with its meaning; empty for other kinds of values."""
    default: str | None
    """The default value, as TOML; None for a required key."""
    option: str | None
    """The corresponding option of Accel-Sim, if there is one."""
    value: Setting | None
    """The machine's value; None if the machine does not use the key."""
    origin: str | None
    """The origin of the value: a line of a file, `--set ...` for a change, or the default."""

    def __str__(self) -> str:
        lines = [f"{self.path} = {self.value!r}   ({self.origin or 'not read by this machine'})", f"  {self.doc}", f"  takes {self.takes}"]
        lines += [f"    {word}: {doc}" for word, doc in self.choices]
        if self.default is not None:
            lines.append(f"  default {self.default}")
        if self.option:
            lines.append(f"  in Accel-Sim {self.option}")
        return "\n".join(lines)


_KEYS: dict[str, dict[str, Any]] = {key["path"]: key for key in _native.machine_keys()}


def _below(prefix: str) -> list[str]:
    """Returns the names that may follow a prefix, in the order of the reference."""
    start = f"{prefix}." if prefix else ""
    rest = (path[len(start) :] for path in _KEYS if path.startswith(start))
    return list(dict.fromkeys(name.split(".")[0] for name in rest))


def text_of(value: Setting) -> str:
    """Returns a value in the syntax of `--set KEY=VALUE`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(f'"{item}"' for item in value) + "]"
    return str(value)


class Node:
    """A table of keys of a machine, such as `machine.gpu.sm`: its attributes are keys and further tables."""

    __slots__ = ("_machine", "_prefix")

    def __init__(self, machine: Machine, prefix: str) -> None:
        object.__setattr__(self, "_machine", machine)
        object.__setattr__(self, "_prefix", prefix)

    def _path(self, name: str) -> str:
        return f"{self._prefix}.{name}" if self._prefix else name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        path = self._path(name)
        if path in _KEYS:
            return self._machine._native.value(path)
        if _below(path):
            return Node(self._machine, path)
        raise AttributeError(f"unknown key `{path}`; known keys of [{self._prefix}]: {', '.join(_below(self._prefix))}")

    def __setattr__(self, name: str, value: Setting) -> None:
        self._machine.update({self._path(name): value})

    def __dir__(self) -> list[str]:
        return _below(self._prefix)

    def __iter__(self) -> Iterator[Key]:
        """Returns the keys below this table that the machine uses."""
        for path in _KEYS:
            if path.startswith(f"{self._prefix}.") and self._machine._native.origin(path) is not None:
                yield self._machine.help(path)

    def __repr__(self) -> str:
        return "\n".join(f"{key.path} = {key.value!r}   {key.doc} Takes {key.takes}." for key in self)


class Machine:
    """A machine: a built-in machine by its name, or a machine file by its path, with changes.

        machine = Machine("v100", {"gpu.sms": 56})
        machine.gpu.sm.order = "gto"
        print(machine.help("gpu.sm.order"))

    Every change is checked immediately against the whole machine; an invalid change raises `ConfigError` with the text of the command line and
    leaves the machine unchanged. Use `update` for keys that are only valid together.
    """

    __slots__ = ("_native",)
    _native: _Native

    def __init__(self, name: str | os.PathLike[str] = "v100", changes: Mapping[str, Setting] | None = None) -> None:
        pairs = [(key, text_of(value)) for key, value in (changes or {}).items()]
        object.__setattr__(self, "_native", _Native(os.fspath(name), None, pairs))

    @classmethod
    def _of(cls, native: _Native) -> Machine:
        made = cls.__new__(cls)
        object.__setattr__(made, "_native", native)
        return made

    @classmethod
    def from_toml(cls, text: str, name: str = "machine.toml") -> Machine:
        """Returns a machine from the text of a machine file, which messages call `name`."""
        return cls._of(_Native(name, text, []))

    @property
    def name(self) -> str:
        """Name of the machine in reports."""
        return self._native.name

    @property
    def base(self) -> str:
        """Built-in name or path from which the machine was created."""
        return self._native.base

    @property
    def summary(self) -> str:
        """Description of the machine in one line."""
        return self._native.summary

    @property
    def changes(self) -> dict[str, str]:
        """The changed keys and their values as text."""
        return dict(self._native.changes)

    @property
    def warnings(self) -> list[str]:
        """Warnings about settings that are allowed but probably unintended."""
        return self._native.warnings

    def update(self, changes: Mapping[str, Setting]) -> None:
        """Changes several keys at the same time.

        Raises ConfigError: a key is unknown, a value is invalid, or the resulting machine is invalid; the machine is then unchanged.
        """
        native = self._native.changed([(key, text_of(value)) for key, value in changes.items()])
        object.__setattr__(self, "_native", native)

    def changed(self, changes: Mapping[str, Setting]) -> Machine:
        """Returns another machine with these keys changed."""
        return Machine._of(self._native.changed([(key, text_of(value)) for key, value in changes.items()]))

    def copy(self) -> Machine:
        """Returns another machine with the same values."""
        return self.changed({})

    def help(self, path: str) -> Key:
        """Returns description, valid values and value of a key."""
        if path not in _KEYS:
            # The error of the native module suggests the intended key.
            self._native.changed([(path, "0")])
        key = _KEYS[path]
        return Key(
            path=path,
            doc=key["doc"],
            takes=key["takes"],
            choices=tuple(tuple(choice) for choice in key["choices"]),
            default=key["default"],
            option=key["option"],
            value=self._native.value(path),
            origin=self._native.origin(path),
        )

    @property
    def keys(self) -> list[Key]:
        """Returns every key that the machine uses."""
        return [self.help(path) for path in _KEYS if self._native.origin(path) is not None]

    def to_toml(self) -> str:
        """Returns the text of a machine file, with the origin of each value in a comment."""
        return self._native.to_toml()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the machine file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_toml())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in _KEYS:
            return self._native.value(name)
        if _below(name):
            return Node(self, name)
        raise AttributeError(f"unknown key `{name}`; known keys at the top: {', '.join(_below(''))}")

    def __setattr__(self, name: str, value: Setting) -> None:
        self.update({name: value})

    def __getitem__(self, path: str) -> Any:
        """Returns the value of a dotted key."""
        return self.help(path).value

    def __setitem__(self, path: str, value: Setting) -> None:
        self.update({path: value})

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *_below("")]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Machine):
            return NotImplemented
        return (self.base, self._native.changes) == (other.base, other._native.changes) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash((self.base, tuple(self._native.changes)))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Machine, (self.base, self.changes))

    def __repr__(self) -> str:
        changes = f", {self.changes!r}" if self.changes else ""
        return f"Machine({self.base!r}{changes})"


def machines() -> dict[str, str]:
    """Returns the built-in machines with their descriptions."""
    return dict(_native.machines())
