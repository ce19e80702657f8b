"""The `[training]` table, and what an algorithm has of its own in place of it."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from netsim.protocols.learning_rates import Rate
from netsim.protocols.learning_rates.constant import ConstantRate
from netsim.registry import Count, NonNegative, Plausible, Positive, Table, choice

if TYPE_CHECKING:
    RateChoice = Rate
else:
    RateChoice = choice("netsim.protocols.learning_rates")

Part = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


class Training(Table):
    """Local training: the optimizer, and what happens to models that arrive meanwhile.

    Attributes
    ----------
    optimizer
        Method of local steps: SGD, or Adam. Source: Adam: Kingma and Ba, ICLR 2015, Algorithm 1.
    learning_rate
        Length of a local step, as a factor of the gradient (of Adam's direction).
    learning_rate_schedule
        Course of the learning rate over a node's local steps or over time. It multiplies every rate
        that local training goes by, those that a method sets itself included. Example:
        `{ kind = "cosine", over = 500 }`
    batch_size
        Number of samples of a minibatch.
    momentum
        Part of the last step's direction that SGD keeps for the next one; Adam does not read it.
    weight_decay
        Factor of the parameters that is added to their gradient (L2 penalty).
    beta1
        Share of its mean of gradients that Adam keeps from step to step.
    beta2
        Share of its mean of squared gradients that Adam keeps from step to step.
    clip_norm
        Largest L2 norm of a gradient over all that is trained: a longer one is scaled down to it.
        Absent: gradients are not clipped.
    dtype
        Floating-point format of models and of their training.
    common_initial
        Whether all nodes start from the same random model; otherwise each from one of its own.
    parameter_bits
        Size of one number of a model in a message. It counts bits and rounds no value.
    on_arrival
        Treatment of a model that arrives while its receiver trains: it replaces the result when the
        training has ended ("wait"), or then has the change made by it added ("rebase"), or replaces
        the model at once and drops that training ("discard_step").
    """

    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: Annotated[Positive, Plausible(most=10.0, why="steps diverge")] = 0.05
    learning_rate_schedule: RateChoice = ConstantRate()
    batch_size: Count = 10
    momentum: Part = 0.0
    weight_decay: NonNegative = 0.0
    beta1: Part = 0.9
    beta2: Part = 0.999
    clip_norm: Positive | None = None
    dtype: Literal["float32", "float64"] = "float32"
    common_initial: bool = True
    parameter_bits: Count = 32
    on_arrival: Literal["wait", "rebase", "discard_step"] = "wait"


class OwnTraining(Table):
    """Keys of [training] that differ for one algorithm: methods are tuned one by one.

    Attributes
    ----------
    optimizer
        Method of this algorithm's local steps. Absent: as in `[training]`.
    learning_rate
        Length of its local steps. Absent: as in `[training]`.
    learning_rate_schedule
        Course of its learning rate. Absent: as in `[training]`.
    batch_size
        Samples of its minibatches. Absent: as in `[training]`.
    momentum
        Its momentum with SGD. Absent: as in `[training]`.
    weight_decay
        Its L2 penalty. Absent: as in `[training]`.
    beta1
        Share of the mean of gradients that its Adam keeps. Absent: as in `[training]`.
    beta2
        Share of the mean of squared gradients that its Adam keeps. Absent: as in `[training]`.
    clip_norm
        Largest norm of its gradients. Absent: as in `[training]`.
    parameter_bits
        Size of one number of a model in its messages. Absent: as in `[training]`.
    """

    optimizer: Literal["sgd", "adam"] | None = None
    learning_rate: Positive | None = None
    learning_rate_schedule: RateChoice | None = None
    batch_size: Count | None = None
    momentum: Part | None = None
    weight_decay: NonNegative | None = None
    beta1: Part | None = None
    beta2: Part | None = None
    clip_norm: Positive | None = None
    parameter_bits: Count | None = None
