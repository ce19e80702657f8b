"""Models of the user's own: a factory of an `nn.Module`, or a module, as a kind of model."""

import copy
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, Literal
from weakref import WeakValueDictionary

from pydantic import create_model
from torch import nn

from netsim.errors import ScenarioError, one_line
from netsim.learning.module_copies import left_behind, shared_memory
from netsim.models import ModelKind, Network
from netsim.models._head import name_head, without_head

GIVEN = ("input_shape", "num_classes")
"""Arguments that a factory may ask for, by name."""


class OwnModel(ModelKind):
    """A model that was given as a Python object.

    Attributes
    ----------
    head
        Dotted name of the submodule that is the head, for methods that treat it apart; what is
        before it are the features. Absent: `head`, or the last layer of an nn.Sequential.
    """

    kind: str
    head: str | None = None
    factory: ClassVar[Callable[..., nn.Module]]

    def build(self, input_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        """Build the network; see the base class."""
        factory = type(self).factory
        asked = [name for name in GIVEN if name in _parameters(factory)]
        given = {"input_shape": input_shape, "num_classes": num_classes}
        module = factory(**{name: given[name] for name in asked})
        where = f'[model] kind = "{self.kind}"'
        if not isinstance(module, nn.Module):
            raise ScenarioError(f"{where}: is a {type(module).__name__}, no torch.nn.Module")
        for key, parameter in module.named_parameters():
            if _GIVEN.get(id(parameter)) is parameter:
                raise ScenarioError(
                    f"{where}: gives the parameter {key} that it has given before, and runs and "
                    "nodes would share it; make it in the function, or give copy.deepcopy of it"
                )
        _GIVEN.update((id(parameter), parameter) for parameter in module.parameters())
        if self.head is not None and self.head != "head":
            return name_head(module, self.head, where)
        return without_head(_in_two_parts(module), where)


_GIVEN: WeakValueDictionary[int, nn.Parameter] = WeakValueDictionary()
"""Parameters of models that were made and still exist, by their identity."""


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
    factory = _copies(model, name) if isinstance(model, nn.Module) else model
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


def _copies(model: nn.Module, name: str) -> Callable[[], nn.Module]:
    """A function that copies a module, which must have all that makes it what it is."""
    where, remedy = f'[model] kind = "{name}"', "give a function that makes it, in its place"
    for key, parameter in model.named_parameters():
        if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
            raise ScenarioError(f"{where}: {key} has a hook, which copies of it lose; {remedy}")
    shared = shared_memory(model)
    if shared is not None:
        raise ScenarioError(f"{where}: {shared}")
    try:
        first = copy.deepcopy(model)  # later training of the module changes no scenario
    except Exception as error:  # whatever a copy may raise
        said = one_line(str(error).partition("\n")[0])
        raise ScenarioError(f"{where}: can't be copied ({said}); {remedy}") from error
    left = left_behind(model, first)
    if left is not None:
        raise ScenarioError(f"{where}: {left}; {remedy}")
    return lambda: copy.deepcopy(first)


def _in_two_parts(module: nn.Module) -> nn.Module:
    """The module; one that is no more than a sequence has its last layer as head."""
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks)
    if type(module) is not nn.Sequential or len(module) < 2 or any(hooks):
        return module
    *features, head = module
    return Network(nn.Sequential(*features), head)
