"""The head of a network that does not name its own: everything before it is its features."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from netsim.errors import ProtocolError, ScenarioError


def name_head(network: nn.Module, head: str, where: str) -> nn.Module:
    """Give a network `features` and `head`, which methods with a part of their own call.

    Neither is registered: the names of the network's parameters stay.

    Parameters
    ----------
    network : torch.nn.Module
    head : str
        Dotted name of a submodule, which the forward pass calls with the features.
    where : str
        What a message begins with.

    Raises
    ------
    ScenarioError
        If there is no such submodule, or it holds all parameters or none.
    """
    submodules = dict(network.named_modules(remove_duplicate=False))
    if not head or head not in submodules:
        known = ", ".join(name for name in submodules if name) or "none"
        raise ScenarioError(
            f'{where}: head = "{head}": is no submodule of it; its submodules are {known}'
        )
    inside = {id(p) for p in submodules[head].parameters()}
    if not inside or all(id(p) in inside for p in network.parameters()):
        held = "no" if not inside else "every"
        raise ScenarioError(f'{where}: head = "{head}": holds {held} parameter of the model')
    network.__dict__["features"] = Features(network, head)
    network.__dict__["head"] = submodules[head]
    return network


def without_head(network: nn.Module, where: str) -> nn.Module:
    """Give a network without `features` and `head` words for methods that ask for them."""
    for part in ("features", "head"):
        if not hasattr(network, part):
            network.__dict__[part] = Missing(part, where)
    return network


class _ReachedError(Exception):
    """The head is called; carries what it is given."""

    def __init__(self, features: Tensor) -> None:
        super().__init__()
        self.features = features


class Features(nn.Module):
    """A network up to its head.

    Parameters
    ----------
    network : torch.nn.Module
    head : str
        Dotted name of the submodule whose argument is the features.
    """

    def __init__(self, network: nn.Module, head: str) -> None:
        super().__init__()
        self.network, self._head = network, head

    def forward(self, x: Tensor) -> Tensor:
        """Inputs of the head for samples x (n, ...)."""
        handle = self.network.get_submodule(self._head).register_forward_pre_hook(_stop)
        try:
            self.network(x)
        except _ReachedError as reached:
            return reached.features
        finally:
            handle.remove()
        raise ProtocolError(f"the forward pass of the model does not call its head, {self._head}")

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, nn.Parameter]]:
        """Parameters of the network without those of the head."""
        inside = {id(p) for p in self.network.get_submodule(self._head).parameters()}
        for name, parameter in super().named_parameters(*args, **kwargs):
            if id(parameter) not in inside:
                yield name, parameter


def _stop(module: nn.Module, args: tuple[Any, ...]) -> None:
    raise _ReachedError(args[0])


class Missing:
    """Stand-in where a network has no such part."""

    def __init__(self, part: str, where: str) -> None:
        self._said = (
            f"{where}: the method asks for the model's {part}, and it has none; say which of its "
            'submodules is the head by [model] head = "NAME": the rest is its features'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise ProtocolError(self._said)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ProtocolError(self.__dict__["_said"])
