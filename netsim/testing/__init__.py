"""Checks of components, for your own tests, in three lines.

    from netsim import testing

    def test_two_ray():
        testing.check("two_ray.py", beside=__file__)

`check` finds out what a file contains. It plays an algorithm under each schedule that it allows,
over ideal and lossy links, with nodes that come and go, without learning, on two backends, on a GPU
if there is one, and interrupted and resumed. It plays a component twice in a whole run, and checks
the contract of its family (`netsim.testing.families`, one file each). A failed check raises an
`AssertionError` that says what it found. `checks` returns the checks one by one, for
`pytest.mark.parametrize`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from netsim.scenario.kinds import kinds_of
from netsim.testing import algorithms, components
from netsim.testing.algorithms import AlgorithmCase
from netsim.testing.case import ComponentCase

NONE: Mapping[str, Any] = MappingProxyType({})
"""No tables beside those of the small scenarios."""

__all__ = ["AlgorithmCase", "Check", "ComponentCase", "check", "checks"]


@dataclass(frozen=True)
class Check:
    """One thing that must hold.

    Attributes
    ----------
    name : str
        What it is about, as pytest shows it with `ids=str`.
    run : callable
        Raises AssertionError where it does not hold.
    """

    name: str
    run: Callable[[], object]

    def __call__(self) -> None:
        """Check it."""
        self.run()

    def __str__(self) -> str:
        return self.name


def check(
    file: str,
    beside: str = "",
    folder: Path | None = None,
    tables: Mapping[str, Any] = NONE,
    **keys: Any,
) -> None:
    """Check all that must hold of what a file holds.

    Parameters
    ----------
    file : str
        The file of a component, or of an algorithm.
    beside : str
        A file of the same folder, such as the test's own `__file__`.
    folder : Path, optional
        The data folder, for data sets that read files.
    tables : mapping, optional
        Tables of the scenarios that it is played in, where it needs others: another `[data]`, say.
    **keys : object
        Keys of its table that differ from their defaults, or have none.

    Raises
    ------
    AssertionError
        With the first thing that does not hold.
    ScenarioError
        If the file can't be used, or its keys are not what they should be.
    """
    for each in checks(file, beside, folder, tables, **keys):
        try:
            each()
        except AssertionError as error:
            error.add_note(f"{file}: {each}")
            raise


def checks(
    file: str,
    beside: str = "",
    folder: Path | None = None,
    tables: Mapping[str, Any] = NONE,
    **keys: Any,
) -> list[Check]:
    """All that must hold of what a file holds, one by one.

    Parameters
    ----------
    file, beside, folder, tables, **keys
        As of `check`.

    Returns
    -------
    list of Check

    Raises
    ------
    ScenarioError
        If the file can't be used.
    """
    path = (Path(beside).parent if beside else Path()) / file
    kinds, kind = kinds_of((path.parent,)), path.stem
    found: list[Check] = []
    if kind in kinds and _lies_at(kinds[kind].__file__, path):
        found += _of_algorithm(AlgorithmCase(kinds, kind, keys, tables, folder))
    for package, members in kinds.components.items():
        if kind in members:
            found += _of_component(ComponentCase(kinds, package, kind, keys, folder, tables))
    if not found:
        raise AssertionError(f"{path}: holds no algorithm and no component of that name")
    return found


def _lies_at(file: str | None, path: Path) -> bool:
    return file is not None and Path(file).resolve() == path.resolve()


def _of_algorithm(case: AlgorithmCase) -> Iterator[Check]:
    yield Check("contract", partial(algorithms.keeps_the_contract, case))
    for schedule in case.schedules:
        for world in case.worlds:
            run = partial(algorithms.plays, case, schedule, world)
            yield Check(f"{schedule}, {world}", run)
        yield Check(f"{schedule}, churn", partial(algorithms.survives_churn, case, schedule))
    if not case.needs_values:
        yield Check("timing only", partial(algorithms.plays_without_learning, case))
    yield Check("two backends", partial(algorithms.learns_alike_on_two_backends, case))
    if torch.cuda.is_available():
        yield Check("GPU", partial(algorithms.learns_alike_on_a_gpu, case))
    yield Check("resumed", partial(algorithms.goes_on_after_an_interrupt, case))


def _of_component(case: ComponentCase) -> Iterator[Check]:
    yield Check("contract", partial(components.keeps_the_contract, case))
    yield Check("family", partial(components.keeps_what_its_family_promises, case))
    yield Check("run", partial(components.plays_the_same_twice, case))
    yield Check("scenario file", partial(components.is_written_and_read_again, case))
