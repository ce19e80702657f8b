"""Error feedback: what a compressor left out is added to what is compressed next.

Source: Seide et al. 2014 (1-bit SGD); Stich, Cordonnier and Jaggi 2018, "Sparsified SGD with
Memory", Algorithm 1: with m_0 = 0,

    g_t = comp(m_t + v_t),    m_{t+1} = m_t + v_t - g_t

so that what has been sent until t is the sum of all v less m_{t+1}, whatever the compressor.
"""

from netsim.learning.refs import Ref
from netsim.messaging.message import Encoded
from netsim.node.node import Node
from netsim.protocols.compression import Compressor


class ErrorFeedback:
    """Memory of compression errors for a stream of values that are sent one after another.

    Parameters
    ----------
    node : Node
    compressor : Compressor

    Attributes
    ----------
    memory : Ref or None
        m_t, the sum of what compression has left out so far; None before the first value.

    Notes
    -----
    The sender does not learn what the link loses: a lost message is not sent again.

    Examples
    --------
    >>> feedback = ErrorFeedback(node, params.compression)
    >>> while True:
    ...     yield node.wakeup()
    ...     trained = (yield node.train(theta, epochs=1)).theta
    ...     change = trained.part("parameters") - theta.part("parameters")
    ...     node.broadcast(Change(feedback.compress(change)))
    """

    def __init__(self, node: Node, compressor: Compressor) -> None:
        self._node, self._compressor = node, compressor
        self.memory: Ref | None = None

    def compress(self, value: Ref) -> Encoded:
        """Encode the next value with the error so far; a field of a message."""
        wanted = value if self.memory is None else self.memory + value
        sent = self._compressor.compress(self._node, wanted)
        self.memory = wanted - sent.value
        return sent
