"""One node from the inside: what its verbs are handed to, and what the engine calls."""

from collections.abc import Callable
from dataclasses import dataclass

from netsim.learning.refs import Ref
from netsim.node.draws import Draws
from netsim.node.evaluation_verbs import EvaluationVerbs
from netsim.node.foreign_verbs import ForeignVerbs
from netsim.node.live_model import Held
from netsim.node.messaging import Inbox, MessagingVerbs, Outbox, RequestReply
from netsim.node.neighbourhood import Neighbourhood
from netsim.node.processor import Processor
from netsim.node.publishing_verbs import PublishingVerbs
from netsim.node.radio_verbs import RadioVerbs
from netsim.node.training_verbs import TrainingVerbs
from netsim.node.value_verbs import ValueVerbs
from netsim.node.wakeups import Wakeups


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeInternals:
    """One node from the inside.

    Attributes
    ----------
    id : int
    role : str
    hold : callable
        (theta) -> Held.
    superposed : callable
        ({sender: Received}) -> (Ref, Ref): sums of what was sent over the air.
    """

    id: int
    role: str
    wakeups: Wakeups
    neighbourhood: Neighbourhood
    messaging: MessagingVerbs
    requests: RequestReply
    outbox: Outbox
    inbox: Inbox
    training: TrainingVerbs
    processor: Processor
    hold: Callable[[Ref], Held]
    superposed: Callable[..., tuple[Ref, Ref]]
    values: ValueVerbs
    evaluation: EvaluationVerbs
    publishing: PublishingVerbs
    draws: Draws
    foreign: ForeignVerbs
    radio: RadioVerbs
