"""Models of the user's own: a factory of an `nn.Module`, or a module, as a kind of model."""

import copy
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Literal

from pydantic import create_model
from torch import nn

from netsim.errors import ScenarioError
from netsim.models import ModelKind, Network

GIVEN = ("input_shape", "num_classes")
"""What a factory may ask for, by name."""


class OwnModel(ModelKind):
    """A model that was given as a Python object."""

    kind: str
    factory: ClassVar[Callable[..., nn.Module]]

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> Network:
        """Build the network; see the base class."""
        factory = type(self).factory
        asked = [name for name in GIVEN if name in _parameters(factory)]
        given = {"input_shape": input_shape, "num_classes": num_classes}
        return _in_two_parts(factory(**{name: given[name] for name in asked}), self.kind)


def model_kind(model: Any, name: str) -> type[OwnModel]:
    """A kind of model.

    Parameters
    ----------
    model : callable or torch.nn.Module
        A class or function that makes a module, and is given `input_shape` and `num_classes` if it
        names them; or a module, from whose values all nodes start.
    name : str
        Of the kind.

    Raises
    ------
    ScenarioError
        If it asks for anything else.
    """
    factory = (lambda: copy.deepcopy(model)) if isinstance(model, nn.Module) else model
    if not callable(factory):
        raise ScenarioError(
            f"[model] kind = {model!r}: is no model; give a name, an nn.Module, or a function that "
            "makes one"
        )
    unknown = [
        key
        for key, p in _parameters(factory).items()
        if key not in GIVEN
        and p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    if unknown:
        raise ScenarioError(
            f'[model] kind = "{name}": asks for {", ".join(unknown)}; it is given input_shape and '
            f"num_classes by name, and nothing else: give the rest a default, or write "
            f"lambda num_classes: {name}(...)"
        )
    kind: Any = (Literal[name], name)
    about = inspect.getdoc(model)
    made: type[OwnModel] = create_model(name, __base__=OwnModel, __doc__=about, kind=kind)
    made.factory = staticmethod(factory)
    return made


def _parameters(factory: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(factory).parameters)


def _is_required(parameter: inspect.Parameter) -> bool:
    takes_any = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not takes_any


def _in_two_parts(module: Any, name: str) -> Network:
    """The module, whose head algorithms can address."""
    if isinstance(module, nn.Module) and hasattr(module, "features") and hasattr(module, "head"):
        return module  # type: ignore[return-value]
    if isinstance(module, nn.Sequential) and len(module) > 1:
        *features, head = module
        return Network(nn.Sequential(*features), head)
    raise ScenarioError(
        f'[model] kind = "{name}": is a {type(module).__name__} without submodules `features` and '
        "`head`; name them so, return netsim.models.Network(features, head), or an nn.Sequential, "
        "whose last layer is the head"
    )
