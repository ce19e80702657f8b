"""Support of models by the native kernel, and reasons where there is none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from netsim.backends.native.graph import UnsupportedError
from netsim.backends.native.library import Library, LibraryMissingError, load_library
from netsim.backends.native.losses import LOSSES
from netsim.backends.native.trace import trace
from netsim.errors import ScenarioError
from netsim.learning.architecture import Architecture
from netsim.learning.tasks import Task


class Support(NamedTuple):
    """Support of the native kernel for the models of a run.

    Attributes
    ----------
    library : Library or None
    variants : dict of Architecture to str
        The best instruction set for each model that it knows.
    reasons : dict of str to str
        Why it runs nothing, or not a model, by what that concerns.
    """

    library: Library | None
    variants: dict[Architecture, str]
    reasons: dict[str, str]

    def reason(self, architecture: Architecture) -> str:
        """Why the kernel runs nothing of a model; empty: it knows the model."""
        if architecture in self.variants:
            return ""
        of_model = self.reasons.get(f"the model {architecture.name}")
        return of_model or next(iter(self.reasons.values()), "")

    @property
    def instruction_sets(self) -> frozenset[str]:
        """List the instruction sets that the kernel can run on here."""
        return frozenset(v.name for v in self.library.variants) if self.library else frozenset()


def native_support(
    architectures: Iterable[Architecture], input_shape: tuple[int, ...], task: Task
) -> Support:
    """Return the native kernel's support for some models.

    Parameters
    ----------
    architectures : iterable of Architecture
    input_shape : tuple of int
        Of one sample.
    task : Task
        Task of learning.
    """
    try:
        library = load_library()
    except LibraryMissingError as error:
        return Support(None, {}, {"the native kernel": str(error)})
    best = library.variant().name
    variants: dict[Architecture, str] = {}
    reasons: dict[str, str] = {}
    if task.kernel_loss not in LOSSES:
        kind = type(task).__name__
        return Support(library, {}, {f"the task {kind}": "the kernel does not know its loss"})
    for architecture in architectures:
        if architecture.device.type != "cpu":
            reasons["the native kernel"] = "it runs on CPUs alone"
        else:
            try:
                for training in (True, False):
                    trace(architecture.module, input_shape, training)
                variants[architecture] = best
            except UnsupportedError as error:
                reasons[f"the model {architecture.name}"] = str(error)
    return Support(library, variants, reasons)


def require(support: Support, backend: str) -> None:
    """Refuse `[run] backend = "native"` where there is no kernel.

    Parameters
    ----------
    support : Support
    backend : str
        `[run] backend`.

    Raises
    ------
    ScenarioError
    """
    missing = support.reasons.get("the native kernel")
    if backend == "native" and missing:
        raise ScenarioError(f'[run] backend = "native": {missing}; or write backend = "auto"')
