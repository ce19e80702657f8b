"""The messages that most methods need: a model, and a node's contribution to a round."""

from dataclasses import dataclass

from netsim.learning.refs import Ref
from netsim.messaging.message import Message


@dataclass(frozen=True)
class Model(Message):
    """A whole model.

    Attributes
    ----------
    theta : Ref
    """

    theta: Ref


@dataclass(frozen=True)
class Update(Message):
    """A node's model of a round.

    Attributes
    ----------
    theta : Ref
    size : int, optional
        Training samples of the node; without it nothing is sent beside the model.
    """

    theta: Ref
    size: int | None = None


@dataclass(frozen=True)
class Share(Message):
    """Contribution of a node to a mean: a model or a part of it, and its number of samples.

    Attributes
    ----------
    theta : Ref
    size : int
    """

    theta: Ref
    size: int


@dataclass(frozen=True)
class Mean(Message):
    """The mean of the shares.

    Attributes
    ----------
    theta : Ref
    """

    theta: Ref
