"""All that an algorithm may import of netsim.

An algorithm module exports frozen `Params`, its message classes, and
`processes(node, params) -> list of generators`; `SCHEDULES` names the schedules it runs under if
it does not run under all of them, and `KNOWS_SERVERS = False` says that nodes of role `server` take
no part in it. `yield` is the only way virtual time passes; nobody touches
another node's tensors except through a message.
"""

from pydantic import model_validator

from netsim.errors import ProtocolError
from netsim.learning import project_to_simplex
from netsim.learning.functions import batched
from netsim.learning.jobs import BatchKey
from netsim.learning.refs import Ref
from netsim.learning.shards import Batch
from netsim.messaging.message import Message, Received
from netsim.node.live_model import Held
from netsim.node.node import Node, Process
from netsim.node.training_verbs import Trained
from netsim.node.wakeups import Condition
from netsim.registry import Count, Finite, Fraction, Index, NonNegative, Positive
from netsim.registry import Table as Params
from netsim.schedules import Wake

__all__ = [
    "Batch",
    "BatchKey",
    "Condition",
    "Count",
    "Finite",
    "Fraction",
    "Held",
    "Index",
    "Message",
    "Node",
    "NonNegative",
    "Params",
    "Positive",
    "Process",
    "ProtocolError",
    "Received",
    "Ref",
    "Trained",
    "Wake",
    "batched",
    "model_validator",
    "project_to_simplex",
]
