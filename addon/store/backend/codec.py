"""Encodes records, copies and tombstones as msgpack, and decodes them.

The wire types follow from the dataclasses: each field that the constructor takes, under its own name, with its
default, so that a field which is added later (with a default) can be missing in what was written before. A field that
has its default is left out: so a default must never change. What is packed (`packing`) is unpacked first.
"""

import dataclasses
from collections.abc import Collection
from sys import intern
from typing import Any, get_type_hints

import msgspec

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.update import Update
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields
from bestbefore.addon.store.backend.interface import KeptCopy, Tombstone
from bestbefore.addon.store.packing import unpack
from bestbefore.policies.models.hazard.memory import UpdateMemory


class UnreadableError(ValueError):
    """Stored data that this version cannot decode."""


# An unknown type is a bug in this file. msgspec would turn a TypeError into an error about stored data.


def _plain(value: object) -> object:
    if isinstance(value, Fields):
        return value.raw
    raise NotImplementedError(type(value))


def _typed(wanted: type, value: Any) -> object:
    if wanted is Fields:
        # most copies have the same names
        return Fields((intern(name), line) for name, line in msgspec.convert(value, tuple[tuple[str, str], ...]))
    raise NotImplementedError(wanted)


_encoder = msgspec.msgpack.Encoder(enc_hook=_plain)


class _Codec[T]:
    """A codec between a dataclass and msgpack."""

    def __init__(self, made: type[T], *, beside: Collection[str] = (), **on_wire: Any) -> None:
        """Create a codec for a dataclass.

        `on_wire`: the encoded types of fields that differ from their own. `beside`: names of numbers that may be
        encoded with the fields.
        """
        self._made = made
        types = get_type_hints(made) | on_wire
        taken = [f for f in dataclasses.fields(made) if f.init]  # type: ignore[arg-type]
        self._fields = [(f.name, _default_of(f)) for f in taken]
        self._decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(
            msgspec.defstruct(
                made.__name__,
                [
                    *(_wire_field(f, types[f.name]) for f in taken),
                    *((name, int | None, None) for name in beside),
                ],
                kw_only=True,
            ),
            dec_hook=_typed,
        )
        self._beside = tuple(beside)

    def encode(self, value: T, **on_wire: object) -> bytes:
        """Encode a value, without the fields that have their default."""
        fields = ((name, getattr(value, name), default) for name, default in self._fields)
        return _encoder.encode({name: one for name, one, default in fields if one != default} | on_wire)

    def parts(self, encoded: bytes) -> dict[str, Any]:
        try:
            wire = self._decoder.decode(unpack(encoded))
        except (ValueError, RecursionError) as e:
            raise UnreadableError(f"a stored {self._made.__name__} cannot be read: {e}") from None
        return {name: getattr(wire, name) for name in (*(name for name, _ in self._fields), *self._beside)}

    def decode(self, encoded: bytes) -> T:
        """Decode a value. Raises UnreadableError."""
        return self._made(**self.parts(encoded))


def _default_of(f: "dataclasses.Field[Any]") -> object:
    """Return the default of a field; if it has none, what no value equals."""
    return f.default if f.default_factory is dataclasses.MISSING else f.default_factory()


def _wire_field(f: "dataclasses.Field[Any]", wire_type: Any) -> tuple[str, Any] | tuple[str, Any, Any]:
    if f.default is not dataclasses.MISSING:
        return f.name, wire_type, f.default
    if f.default_factory is not dataclasses.MISSING:
        return f.name, wire_type, msgspec.field(default_factory=f.default_factory)
    return f.name, wire_type


# Most updates are exact: one number instead of two, since a record may hold a thousand and is written at each contact.
_records = _Codec(Record, updates=tuple[float | tuple[float, float], ...], memory=tuple[float, ...] | None)
_copies = _Codec(Copy, beside=["applied", "heard"])  # `heard`: what earlier versions wrote
_tombstones = _Codec(Tombstone)

encode_copy = _copies.encode
encode_tombstone, decode_tombstone = _tombstones.encode, _tombstones.decode


def decode_copy(encoded: bytes) -> KeptCopy:
    """Decode a copy. Raises UnreadableError."""
    parts = _copies.parts(encoded)
    applied, earlier = parts.pop("applied"), parts.pop("heard")
    return KeptCopy(Copy(**parts), earlier if applied is None else applied)


def encode_record(record: Record) -> bytes:
    return _records.encode(record, updates=[u.by_s if u.exact else (u.after_s, u.by_s) for u in record.updates])


def decode_record(encoded: bytes) -> Record:
    """Decode a record. Raises UnreadableError."""
    parts = _records.parts(encoded)
    updates = (Update(u, u) if isinstance(u, float) else Update(*u) for u in parts.pop("updates"))
    memory = parts.pop("memory") or ()
    is_ours = len(memory) == len(UpdateMemory._fields)  # else another version wrote it: it is made again
    return Record(**parts, updates=tuple(updates), memory=UpdateMemory(*memory) if is_ours else None)
