"""Declarations of an algorithm, above its `processes`."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from netsim.errors import ProtocolError
from netsim.node.decisions import Decides
from netsim.registry import did_you_mean, family

F = TypeVar("F", bound=Callable[..., Any])

ANY_TASK = "any"
"""Among the tasks of an algorithm: it learns all of them."""


Parts = tuple[str, ...] | Callable[[Any], Sequence[str]]
"""Names of parts of a model, or a function of Params that gives them."""


@dataclass(frozen=True)
class Declaration:
    """Requirements of an algorithm on a scenario.

    Attributes
    ----------
    schedules : tuple of str, optional
        The schedules that it runs under; None: all of them.
    knows_servers : bool
        Whether nodes of role `server` take part; if not, the others play without them.
    needs_server : bool
        Whether one node of role `server` has to be there.
    needs_values : bool
        Whether its course depends on computed values, so that it can't be played `--timing-only`.
    mixes_to_one : bool
        Whether the weights of each row that it logs sum to one; `--check` holds it to that.
    wakes : bool
        Whether its nodes wait for wake-ups; if not, a scenario needs no `[exchange]` for it.
    allocates : bool
        Whether it divides the band of cells by `node.allocate`.
    learns : bool
        Whether it trains the scenario's models on the scenario's data; if not, it brings its own
        learning.
    decides : callable, optional
        (Params, roles) -> Decides: the decisions that it leaves to an agent; None: it leaves none.
    tasks : tuple of str, optional
        The tasks that it learns, `ANY_TASK` for all; None: those that its verbs allow, see
        `netsim.node.checks`.
    needs_validation : bool or callable
        Whether each node that learns has to have validation samples; a function (Params) -> bool
        where it depends on keys.
    needs_parts : tuple of str or callable
        Parts that each model has to have, such as `("backbone", "head")`; a function
        (Params) -> parts where they depend on keys.
    common_parts : tuple of str or callable
        Parts that nodes mix or compare, so that they have to be there with the same shapes in the
        models of all nodes; `("parameters",)` for whole models.
    """

    schedules: tuple[str, ...] | None = None
    knows_servers: bool = True
    needs_server: bool = False
    needs_values: bool = False
    mixes_to_one: bool = False
    allocates: bool = False
    learns: bool = True
    wakes: bool = True
    decides: Callable[[Any, tuple[str, ...]], Decides] | None = None
    tasks: tuple[str, ...] | None = None
    needs_validation: bool | Callable[[Any], bool] = False
    needs_parts: Parts = ()
    common_parts: Parts = ()

    def can_learn(self, task: type[Any]) -> bool:
        """Return whether the algorithm learns a task, as far as it says so.

        One that learns classifications learns every task whose samples have classes.
        """
        if self.tasks is None or ANY_TASK in self.tasks:
            return True
        kind = task.model_fields["kind"].default
        return kind in self.tasks or ("classification" in self.tasks and task.has_classes)

    def decisions(self, params: Any, roles: tuple[str, ...]) -> Decides | None:
        """Return the decisions that the algorithm leaves to an agent; None: it leaves none."""
        return None if self.decides is None else self.decides(params, roles)

    def validates(self, params: Any) -> bool:
        """Return whether the algorithm needs validation samples with these Params."""
        needed = self.needs_validation
        return bool(needed(params)) if callable(needed) else needed

    def parts(self, params: Any) -> tuple[str, ...]:
        """Return the parts that each model has to have with these Params, common ones included."""
        return tuple(dict.fromkeys((*_part_names(self.needs_parts, params), *self.common(params))))

    def common(self, params: Any) -> tuple[str, ...]:
        """Return the parts that have the same shapes in all models with these Params."""
        return _part_names(self.common_parts, params)


def _part_names(parts: Parts, params: Any) -> tuple[str, ...]:
    return tuple(parts(params) if callable(parts) else parts)


def algorithm(
    *,
    schedules: Sequence[str] | None = None,
    knows_servers: bool = True,
    needs_server: bool = False,
    needs_values: bool = False,
    mixes_to_one: bool = False,
    allocates: bool = False,
    learns: bool = True,
    wakes: bool = True,
    decides: Callable[[Any, tuple[str, ...]], Decides] | None = None,
    tasks: Sequence[str] | None = None,
    needs_validation: bool | Callable[[Any], bool] = False,
    needs_parts: Sequence[str] | Callable[[Any], Sequence[str]] = (),
    common_parts: Sequence[str] | Callable[[Any], Sequence[str]] = (),
    **unknown: object,
) -> Callable[[F], F]:
    """Declare what an algorithm needs; written above its function `processes`.

    Parameters
    ----------
    schedules : sequence of str, optional
        The schedules that it runs under; None: all of them.
    knows_servers : bool
        Whether nodes of role `server` take part in it.
    needs_server : bool
        Whether one node of role `server` has to be there: a scenario with none or several is
        refused.
    needs_values : bool
        Whether its course depends on computed values (then not with `--timing-only`).
    mixes_to_one : bool
        Whether the weights of each row that it logs sum to one; `--check` holds it to that.
    allocates : bool
        Whether it divides the band of cells by `node.allocate`: a scenario without `[radio.mac]
        kind = "ofdma"` is refused.
    learns : bool
        False for a method that brings its own learning: its scenarios need no `[data]` and no
        `[model]`, and its nodes have neither samples nor a model unless they are named.
    wakes : bool
        False for a method that calls neither `node.wakeup` nor `node.exchange`: its scenarios need
        no `[exchange]`.
    decides : callable, optional
        A function (Params, roles of the nodes) -> `Decides`: the decisions that the method leaves
        to an agent by `node.decide`.
    tasks : sequence of str, optional
        The tasks that it learns, such as `("classification",)`; `("any",)`: all of them. A method
        that trains by a loss of its own, or looks at outputs or classes, has to say it for tasks
        other than classifications.
    needs_validation : bool or callable
        Whether each node that learns has to have validation samples (`[data] validation`): a
        scenario without is refused; a function (Params) -> bool where it depends on keys.
    needs_parts : sequence of str or callable
        Parts that each model has to have, such as `("backbone", "head")`: a scenario with another
        model is refused; a function (Params) -> parts where they depend on keys.
    common_parts : sequence of str or callable
        Parts that nodes mix or compare, `("parameters",)` for whole models: a scenario is refused
        in which models lack them or have them in other shapes; or a function, as above.

    Returns
    -------
    callable
        The decorator.

    Raises
    ------
    ProtocolError
        If a keyword or the name of a schedule is not known, or it is not above a function
        `processes`.

    Examples
    --------
    >>> @algorithm(schedules=("rounds",), knows_servers=False)
    ... def processes(node, params):
    ...     return []
    """
    for key in unknown:
        raise ProtocolError(
            f"@algorithm: {key}: must be one of {', '.join(Declaration.__annotations__)}"
            + did_you_mean(key, Declaration.__annotations__)
        )
    if isinstance(schedules, str):
        raise ProtocolError(f'@algorithm: schedules must be a tuple: ("{schedules}",)')
    if isinstance(tasks, str):
        raise ProtocolError(f'@algorithm: tasks must be a tuple: ("{tasks}",)')
    known = family("netsim.schedules", "schedule")
    for name in schedules or ():
        if name not in known:
            raise ProtocolError(
                f'@algorithm: schedules = "{name}": must be one of {", ".join(known)}'
                + did_you_mean(str(name), known)
            )
    switches = {
        "knows_servers": knows_servers,
        "needs_server": needs_server,
        "needs_values": needs_values,
        "mixes_to_one": mixes_to_one,
        "allocates": allocates,
        "learns": learns,
        "wakes": wakes,
    }
    for key, value in switches.items():
        if not isinstance(value, bool):
            raise ProtocolError(f"@algorithm: {key} must be True or False, not {value!r}")
    if not (isinstance(needs_validation, bool) or callable(needs_validation)):
        raise ProtocolError(
            f"@algorithm: needs_validation must be True, False or a function of the Params, "
            f"not {needs_validation!r}"
        )
    for key, parts in (("needs_parts", needs_parts), ("common_parts", common_parts)):
        if isinstance(parts, str):
            raise ProtocolError(f'@algorithm: {key} must be a tuple: ("{parts}",)')
    declared = Declaration(
        None if schedules is None else tuple(schedules),
        **switches,
        decides=decides,
        tasks=None if tasks is None else tuple(tasks),
        needs_validation=needs_validation,
        needs_parts=needs_parts if callable(needs_parts) else tuple(needs_parts),
        common_parts=common_parts if callable(common_parts) else tuple(common_parts),
    )

    def declare(processes: F) -> F:
        if not inspect.isfunction(processes) or processes.__name__ != "processes":
            raise ProtocolError("@algorithm(...) belongs above the function `processes`")
        processes.declaration = declared  # type: ignore[attr-defined]
        return processes

    return declare


def declaration_of(algorithm: Any) -> Declaration:
    """Return the declarations above a module's `processes`; the defaults where there are none."""
    found = getattr(algorithm.processes, "declaration", None)
    return found if isinstance(found, Declaration) else Declaration()
