"""The tables of a scenario with components of the user's own among the kinds of their choices."""

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from netsim.registry import Added, Choice, Table, one_of, union

T = TypeVar("T", bound=Table)


def extended(table: type[T], added: Added) -> type[T]:
    """A subclass of a table whose choices have more kinds; the table itself if none has.

    Parameters
    ----------
    table : type of Table
        Such as `Scenario`; tables inside it are extended, too.
    added : mapping of str to (mapping of str to type of Component)
        By the package of their family, by name.
    """
    return _Extension(added).of_table(table) if any(added.values()) else table


class _Extension:
    """Tables as they are with some components added, each made once."""

    def __init__(self, added: Added) -> None:
        self._added = added
        self._tables: dict[type[Table], type[Table]] = {}

    def of_table(self, table: type[T]) -> type[T]:
        if table not in self._tables:
            changed = {
                key: field
                for key, info in table.model_fields.items()
                if (field := self._field(info)) is not None
            }
            self._tables[table] = self._subclass(table, changed) if changed else table
        return self._tables[table]  # type: ignore[return-value]

    def _subclass(self, table: type[Table], changed: Mapping[str, Any]) -> type[Table]:
        fields: Any = changed
        return create_model(
            table.__name__,
            __base__=table,
            __module__=table.__module__,
            __doc__=table.__doc__,
            **fields,
        )

    def _field(self, info: FieldInfo) -> Any:
        """The definition of a field that is another one now, as `create_model` takes it."""
        before: Any = _annotated(info.annotation, info.metadata)
        after = self._type(before)
        if after is before:
            return None
        if info.is_required():
            return (after, ...)
        if info.default_factory is not None:
            return (after, Field(default_factory=info.default_factory))
        return (after, info.default)

    def _type(self, annotation: Any) -> Any:
        """A type with the added components in its choices; itself where nothing is added."""
        if isinstance(annotation, type) and issubclass(annotation, Table):
            return self.of_table(annotation)
        origin, inside = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            inner, *metadata = inside
            chosen = next((mark for mark in metadata if isinstance(mark, Choice)), None)
            if chosen is not None:
                return self._choice(annotation, inner, metadata, chosen)
            after = self._type(inner)
            return annotation if after is inner else _annotated(after, metadata)
        if origin not in (Union, UnionType, tuple, list, dict):
            return annotation
        changed = tuple(self._type(part) for part in inside)
        if all(new is old for new, old in zip(changed, inside, strict=True)):
            return annotation
        return union(changed) if origin in (Union, UnionType) else origin[changed]

    def _choice(self, annotation: Any, inner: Any, metadata: list[Any], chosen: Choice) -> Any:
        """A choice with more kinds.

        Parameters
        ----------
        annotation : type
            As it is.
        inner : type
            Its union, or its one member.
        metadata : list
            Its annotations.
        chosen : Choice
            That of them which says what is chosen.
        """
        members = get_args(inner) if get_origin(inner) in (Union, UnionType) else (inner,)
        changed = [self._type(member) for member in members]
        for name, component in sorted(self._added.get(chosen.package, {}).items()):
            changed.append(self._type(chosen.table(name, component)))
        if tuple(changed) == members:
            return annotation
        others = [m for m in metadata if m is not chosen and not isinstance(m, FieldInfo)]
        return _annotated(one_of(tuple(changed), chosen), others)


def _annotated(annotation: Any, metadata: list[Any]) -> Any:
    return Annotated[(annotation, *metadata)] if metadata else annotation
