"""All that an algorithm may import of netsim.

An algorithm module exports frozen `Params`, its message classes, and
`processes(node, params) -> list of generators`. `yield` is the only way virtual time passes; nobody
touches another node's tensors except through a message. What it needs of a scenario is declared
above `processes` by `algorithm`: the schedules that it runs under, whether nodes of role `server`
take part, whether its course depends on computed values.

- The node and what it hands out: `Node`, `Process`, `Held`, `Trained`, `Received`, `Ref`, `Batch`,
  `BatchKey`, `Condition`, `Csi`, `Wake`; `ProtocolError`, what a verb used wrongly raises;
  `UnsuitableError`, to be raised by `processes` for a scenario that the method can't play.
- Params and their types: `Params`, `Count`, `Index`, `Positive`, `NonNegative`, `Fraction`,
  `Finite`, `Needs`, `FilePath` and `saved_arrays` in such a file, `model_validator`.
- Declarations: `algorithm` above `processes`, `loss` above a loss that needs random draws,
  `batched` above a function of values that may run for many nodes at once.
- Messages: `Message` is the base; `Model`, `Update`, `Share` and `Mean` are what most methods send;
  `OverTheAir` is a row that a radio adds to those of others, `Energies` one whose energies add up
  (`node.superposed`). `Encoded` is a
  value with its size on the air; `Compression` is a type for Params, whose `compress(node, value)`
  gives one (`NoCompression` for a default), `Compressor` its base; `ErrorFeedback` sends later what
  a compressor has left out; `masked` and `answered` have the sizes of secure aggregation.
- What a node has from its peers, what an absent one means: `Inbox`, `AbsenceParams`, `drop_late`;
  `Arrivals`, where each message counts once;
  what the age of a message leaves of its weight: `discounted` with `StalenessParams` (which
  `AbsenceParams` are), `staleness_factors`, `Staleness`; `StalenessKind` is a type for Params
  (`PolynomialStaleness` for a default).
- `LearningRate` is a type for Params whose `at(node)` is the rate of training that begins now
  (`ConstantRate` for a default).
- `PrivateTraining` with its Params trains by DP-SGD and counts epsilon (`Privacy` are the constants
  that `node.train` takes).
- Rounds with and without a server (`require_one_server`): `round_processes` with a `Participant`,
  of which `AveragedModel` and `AveragedPart` are two; `RoundParams`, `LocalTraining`,
  `PlainTraining`, `FallingRate`, `PaceParams`, `takes_rounds`, `weighted_mean`, `trained_share`,
  `copies_as_own`, `with_statistics_of`; `Sampling`
  with its Params, where a part of the nodes trains in a round. Where every node is answered with a
  value of its own: `personal_processes`, `own_means`, `missing_part`.
- The star exchange: `StarExchange`, `StarParams`, `SlotParams`, `STAR_SCHEDULES`, `Heard`,
  `trains_in`.
- Push-sum over directed graphs: `PushSum` with its Params.
- Who sends to whom over links that lose messages: `Subscriptions` (acknowledged), `Edges` (opened
  and closed by their receivers), `Collaborators` (a set that only shrinks), `Downloads` (pulled, at
  most so many at once), with their Params; `mixing_shares`, `UpdatesToMix`.
- Losses that look at a model elsewhere than where it is: `parameters_of`, `call_at`, `gradient_at`.
- Augmented images and losses on them: `crop_and_flip`, `augmented_cross_entropy`, `two_views`,
  `Augmentation`, and how many draws a sample they need: `CROP_FLIP_DRAWS`, `VIEW_DRAWS`;
  `supervised_contrastive_loss`, `prototype_loss`, `uniformity_loss`.
- Code that brings its own learning: `Opaque` is a value of its own in a message, with its bits;
  `@algorithm(learns=False)` needs neither data nor model. `flower_processes` plays a Flower app.
- Decisions that are left to an agent (`node.decide`): `Decides` declares them, with the spaces
  `Numbers`, `Choice`, `Choices`, `Subset`, `Best` and `Shares`; `Policy` is a type for Params whose
  `choose` answers where no agent plays (`RandomPolicy` for a default); `Decision` is what it gets.
- Mathematics: `project_to_simplex`, `adam_step`, `greedy_collaborators` and
  `batched_greedy_collaborators` (the rule of `node.select`).

A whole algorithm, gossip averaging over lossy links:

    from netsim.api import AbsenceParams, Inbox, Model, Node, Process, algorithm

    class Params(AbsenceParams):
        pass

    @algorithm(knows_servers=False)
    def processes(node: Node, params: Params) -> list[Process]:
        inbox = Inbox(node, Model, params)
        return [on_round(node, inbox), *inbox.listeners()]

    def on_round(node: Node, inbox: Inbox) -> Process:
        theta = node.initial()
        while True:
            yield node.wakeup()
            theta = (yield node.train(theta, epochs=1)).theta
            models = yield from inbox.exchange(Model(theta))
            thetas = [theta, *(model.theta for model in models.values())]
            theta = node.mix(thetas, [1 / len(thetas)] * len(thetas))
            node.publish(theta, "mixed")
"""

from typing import TYPE_CHECKING

from pydantic import model_validator

from netsim.errors import ProtocolError, UnsuitableError
from netsim.learning import project_to_simplex
from netsim.learning.functions import batched, loss
from netsim.learning.jobs import BatchKey
from netsim.learning.optimizers import adam_step
from netsim.learning.privacy import Privacy
from netsim.learning.refs import Ref
from netsim.learning.select import batched_greedy_collaborators, greedy_collaborators
from netsim.learning.shards import Batch
from netsim.messaging.message import Encoded, Message, Opaque, Received
from netsim.messaging.over_the_air import Energies, OverTheAir
from netsim.node.decisions import (
    Best,
    Choice,
    Choices,
    Decides,
    Decision,
    Numbers,
    Shares,
    Subset,
)
from netsim.node.live_model import Held
from netsim.node.node import Node, Process
from netsim.node.radio_verbs import Csi
from netsim.node.training_verbs import Trained
from netsim.node.wakeups import Condition
from netsim.protocols.arrivals import Arrivals
from netsim.protocols.augmentation import VIEW_DRAWS, Augmentation, two_views
from netsim.protocols.averaging import (
    AveragedModel,
    AveragedPart,
    copies_as_own,
    trained_share,
    weighted_mean,
)
from netsim.protocols.collaborators import CollaboratorParams, Collaborators, UpdatesToMix
from netsim.protocols.compression import Compressor
from netsim.protocols.compression.none import NoCompression
from netsim.protocols.contrastive import (
    prototype_loss,
    supervised_contrastive_loss,
    uniformity_loss,
)
from netsim.protocols.crop_flip import CROP_FLIP_DRAWS, augmented_cross_entropy, crop_and_flip
from netsim.protocols.declaration import algorithm
from netsim.protocols.discounts import StalenessParams, discounted, staleness_factors
from netsim.protocols.downloads import DownloadParams, Downloads
from netsim.protocols.edges import Edges, mixing_shares
from netsim.protocols.error_feedback import ErrorFeedback
from netsim.protocols.flower import FlowerParams, flower_processes
from netsim.protocols.inbox import AbsenceParams, Inbox, drop_late
from netsim.protocols.learning_rates import Rate
from netsim.protocols.learning_rates.constant import ConstantRate
from netsim.protocols.local_training import (
    FallingRate,
    LocalTraining,
    PlainTraining,
    with_statistics_of,
)
from netsim.protocols.messages import Mean, Model, Share, Update
from netsim.protocols.parameters import call_at, gradient_at, parameters_of
from netsim.protocols.personal import missing_part, own_means, personal_processes
from netsim.protocols.policies import Policy as PolicyKind
from netsim.protocols.policies.random import RandomPolicy
from netsim.protocols.privacy import PrivacyParams, PrivateTraining
from netsim.protocols.push_sum import PushSum, PushSumParams
from netsim.protocols.rounds import (
    PaceParams,
    Participant,
    RoundParams,
    require_one_server,
    round_processes,
    takes_rounds,
)
from netsim.protocols.sampling import Sampling, SamplingParams
from netsim.protocols.secure_aggregation import answered, masked
from netsim.protocols.staleness import Staleness
from netsim.protocols.staleness.polynomial import PolynomialStaleness
from netsim.protocols.star import (
    STAR_SCHEDULES,
    Heard,
    SlotParams,
    StarExchange,
    StarParams,
    trains_in,
)
from netsim.protocols.subscriptions import SubscriptionParams, Subscriptions
from netsim.registry import (
    Count,
    FilePath,
    Finite,
    Fraction,
    Index,
    Needs,
    NonNegative,
    Positive,
    choice,
)
from netsim.registry import Table as Params
from netsim.schedules import Wake
from netsim.traces.arrays import saved_arrays

if TYPE_CHECKING:
    Compression = Compressor
    """Type of a key of `Params` that takes a compressor, such as `{ kind = "top_k" }`."""
    LearningRate = Rate
    """Type of a key of `Params` that takes a learning rate, such as `{ kind = "step", ... }`."""
    Policy = PolicyKind
    """Type of a key of `Params` that takes a policy, such as `{ kind = "greedy", ... }`."""
    StalenessKind = Staleness
    """Type of a key of `Params` that takes weights by staleness, as `StalenessParams` does."""
else:
    Compression = choice("netsim.protocols.compression")
    LearningRate = choice("netsim.protocols.learning_rates")
    Policy = choice("netsim.protocols.policies")
    StalenessKind = choice("netsim.protocols.staleness")

__all__ = [
    "CROP_FLIP_DRAWS",
    "STAR_SCHEDULES",
    "VIEW_DRAWS",
    "AbsenceParams",
    "Arrivals",
    "Augmentation",
    "AveragedModel",
    "AveragedPart",
    "Batch",
    "BatchKey",
    "Best",
    "Choice",
    "Choices",
    "CollaboratorParams",
    "Collaborators",
    "Compression",
    "Compressor",
    "Condition",
    "ConstantRate",
    "Count",
    "Csi",
    "Decides",
    "Decision",
    "DownloadParams",
    "Downloads",
    "Edges",
    "Encoded",
    "Energies",
    "ErrorFeedback",
    "FallingRate",
    "FilePath",
    "Finite",
    "FlowerParams",
    "Fraction",
    "Heard",
    "Held",
    "Inbox",
    "Index",
    "LearningRate",
    "LocalTraining",
    "Mean",
    "Message",
    "Model",
    "Needs",
    "NoCompression",
    "Node",
    "NonNegative",
    "Numbers",
    "Opaque",
    "OverTheAir",
    "PaceParams",
    "Params",
    "Participant",
    "PlainTraining",
    "Policy",
    "PolynomialStaleness",
    "Positive",
    "Privacy",
    "PrivacyParams",
    "PrivateTraining",
    "Process",
    "ProtocolError",
    "PushSum",
    "PushSumParams",
    "RandomPolicy",
    "Received",
    "Ref",
    "RoundParams",
    "Sampling",
    "SamplingParams",
    "Share",
    "Shares",
    "SlotParams",
    "Staleness",
    "StalenessKind",
    "StalenessParams",
    "StarExchange",
    "StarParams",
    "SubscriptionParams",
    "Subscriptions",
    "Subset",
    "Trained",
    "UnsuitableError",
    "Update",
    "UpdatesToMix",
    "Wake",
    "adam_step",
    "algorithm",
    "answered",
    "augmented_cross_entropy",
    "batched",
    "batched_greedy_collaborators",
    "call_at",
    "copies_as_own",
    "crop_and_flip",
    "discounted",
    "drop_late",
    "flower_processes",
    "gradient_at",
    "greedy_collaborators",
    "loss",
    "masked",
    "missing_part",
    "mixing_shares",
    "model_validator",
    "own_means",
    "parameters_of",
    "personal_processes",
    "project_to_simplex",
    "prototype_loss",
    "require_one_server",
    "round_processes",
    "saved_arrays",
    "staleness_factors",
    "supervised_contrastive_loss",
    "takes_rounds",
    "trained_share",
    "trains_in",
    "two_views",
    "uniformity_loss",
    "weighted_mean",
    "with_statistics_of",
]
