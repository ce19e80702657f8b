"""A node as its algorithm sees it: the reference of the node API.

An algorithm's processes are generators. A verb that takes virtual time returns an event; `yield`
gives it to the clock, and comes back with the event's value once the event has happened. All other
verbs return at once, and no time passes. What is computed is lazy: a `Ref` stands for a value from
the moment it is asked for, and its numbers are computed later, many nodes at a time.

A node that is switched off pauses: its processes go on when it is on again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeVar

import numpy as np
import simpy
from numpy.typing import ArrayLike

from netsim.clock import Clock
from netsim.errors import ProtocolError
from netsim.learning.calling_line import calling_line
from netsim.learning.jobs import BatchKey
from netsim.learning.privacy import Privacy
from netsim.learning.refs import Ref
from netsim.learning.shards import Shards
from netsim.messaging.message import Message, Received
from netsim.node.arguments import (
    require_count,
    require_duration,
    require_kind,
    require_nodes,
    require_time,
)
from netsim.node.internals import NodeInternals
from netsim.node.live_model import Held
from netsim.node.radio_verbs import Csi
from netsim.node.wakeups import Condition
from netsim.units import to_ns, to_s

Process = Generator[simpy.Event, Any, Any]
"""A process of an algorithm."""

T = TypeVar("T")


class Node:
    """One node, as an algorithm sees it.

    Verbs come in seven groups: time (`wakeup tick sleep condition age`), other nodes (`peers
    reachable`), messages (`send broadcast withdraw receive gather ask serve exchange`), the radio
    and the battery (`allocate csi queued battery_j energy_j`), learning
    (`initial train hold batch outputs loss gradient measure mix select pool compute value`), code
    that brings its own learning (`work once seeded model decide`), and results (`publish
    record log_weights warn keep`); `uniform` and `permutation` are the only randomness.

    Parameters
    ----------
    internals : NodeInternals
        Parts of the node to which the verbs pass their calls.
    clock : Clock
    num_nodes : int
    schedule : str
    slots_per_exchange : int or None
    shards : Shards
    learning_rate : float

    Attributes
    ----------
    id : int
        Its number, from 0.
    role : str
        Role of its group in the scenario: `node` by default, `server`, or another name.
    num_nodes : int
        Number of nodes.
    neighbours : tuple of int
        Nodes to which it may ever send, ascending; a fixed set, for a method's records about each.
    servers : tuple of int
        The neighbours whose role is `server`.
    far_servers : tuple of int
        Other nodes of this role, to which it has no link.
    schedule : str
        Name of the exchange schedule: `star`, `rounds`, `poisson` or `periodic`.
    slots_per_exchange : int or None
        The paper's T_ex under `star`; None under other schedules.
    train_size : int
        Present number of its training samples; it changes if the data drift.
    batch_size : int
        Number of samples of a minibatch.
    learning_rate : float
        The scenario's learning rate, without its schedule, for algorithms that change it.
    max_age_s : float
        The greatest age of a message that counts [s]: the Params' `max_age_s`, else three mean
        intervals of the schedule; `math.inf` under `rounds` and for `absent = "last"`.
    """

    def __init__(
        self,
        internals: NodeInternals,
        clock: Clock,
        num_nodes: int,
        schedule: str,
        slots_per_exchange: int | None,
        shards: Shards,
        learning_rate: float,
        max_age_s: float,
    ) -> None:
        self.id, self.role, self.num_nodes = internals.id, internals.role, num_nodes
        self.neighbours = internals.neighbourhood.neighbours
        self.servers = internals.neighbourhood.servers
        self.far_servers = internals.neighbourhood.far_servers
        self.schedule, self.slots_per_exchange = schedule, slots_per_exchange
        self.train_size, self.batch_size = shards.train_size(internals.id), shards.batch_size
        self.learning_rate, self.max_age_s = learning_rate, max_age_s
        self._clock, self._shards = clock, shards
        self._hold, self._superposed = internals.hold, internals.superposed
        self._wakeups, self._neighbourhood = internals.wakeups, internals.neighbourhood
        self._messaging, self._requests = internals.messaging, internals.requests
        self._training, self._values = internals.training, internals.values
        self._evaluation, self._publishing = internals.evaluation, internals.publishing
        self._draws, self._foreign = internals.draws, internals.foreign
        self._radio = internals.radio
        self._local_steps = internals.processor.steps_begun

    # -- time ------------------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        """Virtual time [s]."""
        return to_s(self._clock.now)

    @property
    def local_steps(self) -> int:
        """Steps of local training that the node has begun so far."""
        return self._local_steps()

    @property
    def rate_factor(self) -> float:
        """Factor of the scenario's schedule on the learning rate of training that begins now.

        `train` applies it; it is for update rules that contain the learning rate.
        """
        return self._training.rate_factor()

    @property
    def round(self) -> int:
        """Number of the node's last wake-up, 0 before the first; its messages contain it."""
        return self._wakeups.round

    def age(self, value: Ref, unit: Literal["seconds", "versions"] = "seconds") -> float:
        """Age of the message that brought a value.

        Parameters
        ----------
        value : Ref
        unit : {"seconds", "versions"}
            Virtual time since it was sent [s], or how often this node has woken since.

        Returns
        -------
        float
            0 for a value of the node's own, such as a mixture of those that messages brought. Under
            every schedule.

        Raises
        ------
        ProtocolError
            If `unit` is neither of the two.

        Examples
        --------
        >>> got = yield node.exchange(Model(theta))
        >>> ages = [node.age(received.msg.theta) for received in got.values()]
        """
        if unit not in ("seconds", "versions"):
            raise ProtocolError(
                f"age: unit = {unit!r}: must be seconds or versions{calling_line()}"
            )
        if value.bringer is None:
            return 0.0
        sent_ns = value.bringer.sent_ns
        if unit == "versions":
            return float(self._wakeups.wakeups_since(sent_ns))
        return to_s(self._clock.now - sent_ns)

    def wakeup(self) -> simpy.Event:
        """Wait for the node's next wake-up under the schedule.

        The times are those of the schedule: the node skips, and the run logs, a wake-up at which
        it does other work or is off. Calling this again ends the node's round.

        Returns
        -------
        simpy.Event
            `Wake(round, slot)`. Under `rounds` it happens when every node waits for the round, at
            the latest at the deadline; under the other schedules at a time of the schedule.

        Raises
        ------
        ProtocolError
            Under `rounds`, if another process of this node waits for the round already.

        Examples
        --------
        >>> while True:
        ...     wake = yield node.wakeup()
        """
        return self._wakeups.wakeup()

    def tick(self) -> simpy.Event:
        """Wait for the next slot.

        Slots last `[exchange] slot_s`, one local step by default. A process gets each slot once, in
        order: the one after its last tick or wake-up, but none that has begun before now.

        Returns
        -------
        simpy.Event
            The slot's number, at its start, after all else of that instant. Made for `star`, whose
            wake-ups are every `slots_per_exchange` slots; it counts time under every schedule.

        Examples
        --------
        >>> slot = yield node.tick()
        >>> trained = yield node.train(theta, steps=1)
        """
        return self._wakeups.tick()

    def sleep(self, duration_s: float) -> simpy.Event:
        """Wait for a time.

        Parameters
        ----------
        duration_s : float
            Virtual time [s], 0 or more.

        Returns
        -------
        simpy.Event
            None, `duration_s` from now; under every schedule.

        Raises
        ------
        ProtocolError
            If `duration_s` is negative or nan.

        Examples
        --------
        >>> yield node.sleep(0.5)
        >>> node.now_s
        """
        require_time("sleep", "duration_s", duration_s)
        return self._clock.timeout(to_ns(duration_s))

    def condition(self) -> Condition:
        """A new condition, by which processes of this node wait for each other.

        Returns
        -------
        Condition
            `condition.wait()` is an event that happens at the next `condition.notify()`; under
            every schedule.

        Examples
        --------
        >>> fresh = node.condition()  # one process calls fresh.notify(),
        >>> yield fresh.wait()  # another one waits for it
        """
        return Condition(self._clock)

    # -- the others ------------------------------------------------------------------------------

    @property
    def peers(self) -> tuple[int, ...]:
        """Neighbours in the topology, ascending; with a contact trace those in contact now."""
        return self._neighbourhood.peers()

    def reachable(self) -> simpy.Event:
        """Ask which peers are in reach now.

        A peer is in reach if its instantaneous SNR is at least the threshold; over wires all are. A
        node that is off is in nobody's reach.

        Returns
        -------
        simpy.Event
            Their ids, ascending. With `discovery = "oracle"` at once and free; with `"probe"` after
            `probe_window_s`, or when all have answered, by a broadcast of `control_bits`: only
            peers whose reply is decoded count. Under every schedule.

        Examples
        --------
        >>> there = yield node.reachable()
        >>> replies = yield node.ask(there, Request(), Reply, timeout_s=1.0)
        """
        return self._neighbourhood.reachable()

    # -- messages --------------------------------------------------------------------------------

    def send(self, to: int, msg: Message) -> simpy.Event:
        """Send a message to one node.

        The message is sent whether or not the process waits for the event. The receiver gets it
        with `receive` or `gather`. The run warns of messages to nodes that are no `neighbours`.

        Parameters
        ----------
        to : int
        msg : Message
            Its Refs must be this node's.

        Returns
        -------
        simpy.Event
            The outcome (`delivered`, `outage`, ...) when the message has been delivered or given
            up; None at that time where the link has no acknowledgements. Under every schedule;
            under `rounds` a round waits for it.

        Raises
        ------
        ProtocolError
            If `to` is no other node, or the message can't be sent.

        Examples
        --------
        >>> outcome = yield node.send(3, Model(theta=theta))
        >>> arrived = outcome == "delivered"
        """
        return self._messaging.send(to, msg)

    def broadcast(self, msg: Message, to: Iterable[int] | None = None) -> simpy.Event:
        """Send one message to several nodes in one airtime.

        Over wires each receiver gets a message of its own. A radio that is busy misses a broadcast.

        Parameters
        ----------
        msg : Message
        to : iterable of int
            By default the peers.

        Returns
        -------
        simpy.Event
            {receiver: outcome} when the message has ended for all of them, at once if there are
            none; the outcomes are None over the air, where broadcasts have no acknowledgements
            unless `[radio.broadcast]` repeats them. Under every schedule.

        Raises
        ------
        ProtocolError
            As `send`.

        Examples
        --------
        >>> node.broadcast(Model(theta=theta))
        >>> outcomes = yield node.broadcast(Model(theta=theta), to=node.servers)
        """
        return self._messaging.broadcast(msg, to)

    def withdraw(self, kind: type[Message]) -> int:
        """Withdraw this node's messages of a class that wait to be sent.

        They end with the outcome `withdrawn`; under `rounds` an exchange goes on without them. A
        message that is on the air, or has begun to cross a wire, is not withdrawn. A message sent
        at this same instant has not begun yet if the link orders the senders of one instant
        (radios that take turns, wires with `sharing = "fifo"`). A link without a queue has nothing
        to withdraw.

        Parameters
        ----------
        kind : type
            The message class; requests and replies of it are withdrawn like others.

        Returns
        -------
        int
            Number of withdrawn messages, one for each receiver. At once, under every schedule.

        Raises
        ------
        ProtocolError
            If `kind` is no message class.

        Examples
        --------
        >>> node.withdraw(Fragment)  # those of the previous model
        >>> for j, fragment in fresh:
        ...     node.send(j, fragment)
        """
        require_kind("withdraw", "kind", kind, exact=False)
        return self._messaging.withdraw(kind)

    def receive(self, kind: type[Message], timeout_s: float | None) -> simpy.Event:
        """Wait for the next message of a class.

        Messages wait in the node's mailbox until they are asked for. Never write
        `receive(...) | ...`, in either order: it would lose messages, and is refused.

        Parameters
        ----------
        kind : type
            The message class.
        timeout_s : float or None
            Time to wait [s]. None, without limit, is for loops that only listen: neither a round
            nor the end of the run waits for a node all of whose processes listen.

        Returns
        -------
        simpy.Event
            `Received(msg, sender, ...)` as soon as there is one, or None after `timeout_s`; what
            comes at that very instant is in time. Under every schedule; messages of an `exchange`
            count, too, if they came too late for it under `rounds`, or if the node has never
            called it.

        Raises
        ------
        ProtocolError
            If `kind` is no message class, or `timeout_s` is negative or nan.

        Examples
        --------
        >>> while True:
        ...     received = yield node.receive(Model, timeout_s=None)
        """
        require_kind("receive", "kind", kind)
        if timeout_s is not None:
            require_time("receive", "timeout_s", timeout_s)
        return self._messaging.receive(kind, timeout_s)

    def gather(
        self, kind: type[Message], senders: Collection[int], timeout_s: float | None
    ) -> simpy.Event:
        """Wait for one message of a class from each of several senders.

        Parameters
        ----------
        kind : type
            The message class.
        senders : collection of int
        timeout_s : float or None
            Time to wait for the last [s]; None as in `receive`.

        Returns
        -------
        simpy.Event
            {sender: Received} when all have come, or what has come by `timeout_s`, as for
            `receive`. Under every schedule.

        Raises
        ------
        ProtocolError
            If `kind` is no message class, a sender is no other node, or `timeout_s` is negative or
            nan.

        Examples
        --------
        >>> got = yield node.gather(Model, node.peers, timeout_s=2.0)
        >>> thetas = [received.msg.theta for received in got.values()]
        """
        senders = tuple(senders)
        require_kind("gather", "kind", kind)
        require_nodes("gather", "senders", senders, self.num_nodes, self.id)
        if timeout_s is not None:
            require_time("gather", "timeout_s", timeout_s)
        return self._messaging.gather(kind, senders, timeout_s)

    def ask(
        self,
        to: int | Iterable[int],
        msg: Message,
        reply: type[Message],
        timeout_s: float,
        tries: int = 1,
    ) -> simpy.Event:
        """Ask peers that `serve` a request, and wait for their replies.

        The node asks peers that have not answered after `timeout_s` again, up to `tries` times in
        all. The run drops and counts replies that come after the last try.

        Parameters
        ----------
        to : int or iterable of int
        msg : Message
            The request.
        reply : type
            The class of the replies.
        timeout_s : float
            Time to wait in each try [s]. A request waits no longer for radios or wires to become
            free; where it is relayed, so long at each relay.
        tries : int
            Greatest number of requests to a peer.

        Returns
        -------
        simpy.Event
            {peer: Received} when all have answered, after `tries * timeout_s` at the latest; peers
            that did not answer are absent. Under every schedule.

        Raises
        ------
        ProtocolError
            As `send`; if `timeout_s` is negative or nan, or `tries` no whole number of at least 1;
            later, if a peer serves no such request or answers with another class.

        Examples
        --------
        >>> got = yield node.ask(node.peers, Request(), Model, timeout_s=1.0, tries=2)
        >>> thetas = [received.msg.theta for received in got.values()]
        """
        peers = (int(to),) if isinstance(to, int | np.integer) else tuple(to)
        require_nodes("ask", "to", peers, self.num_nodes, self.id)
        require_time("ask", "timeout_s", timeout_s)
        require_count("ask", "tries", tries, least=1)
        return self._requests.ask(peers, msg, reply, timeout_s, tries)

    def patience_s(self, to: Iterable[int]) -> float:
        """Time after which a node can take replies with a model for lost [s].

        Four times the time of a request to the first peer and of a model from each peer to this
        node, at mean SNR on an otherwise idle network; at least 1 s.

        Parameters
        ----------
        to : iterable of int
            The peers that are asked at once.

        Returns
        -------
        float
            The same under every schedule.

        Examples
        --------
        >>> got = yield node.ask(peers, Request(), Model, timeout_s=node.patience_s(peers))
        """
        return self._messaging.patience_s(tuple(to))

    def serve(self, request: type[Message], handler: Callable[[Received[Any]], Any]) -> None:
        """Answer requests of a class from now on, beside whatever else the node does.

        Parameters
        ----------
        request : type
            The class of the requests.
        handler : callable
            `handler(received)` returns the reply, or None for no reply, or is a process (a
            generator function) that takes virtual time and returns it.

        Raises
        ------
        ProtocolError
            If `request` is no message class, the node serves it already, or `handler` is no
            function.

        Notes
        -----
        Returns at once, under every schedule. Rounds and the end of the run do not wait for a node
        that only serves.

        Examples
        --------
        >>> node.serve(Request, lambda received: Model(theta=state.theta))
        >>> return []  # a server has no processes of its own
        """
        require_kind("serve", "request", request)
        if not callable(handler):
            raise ProtocolError(
                f"serve: handler = {handler!r}: must be a function of the request{calling_line()}"
            )
        self._requests.serve(request, handler)

    def exchange(
        self,
        msg: Message | Mapping[int, Message],
        to: Iterable[int] | None = None,
        expect: Iterable[int] | None = None,
        phase: int = 0,
        kind: type[Message] | None = None,
        max_age_s: float | None = None,
    ) -> simpy.Event:
        """Send to the peers and collect their messages, as the schedule says.

        Parameters
        ----------
        msg : Message or mapping of int to Message
            One for all receivers, or one each.
        to : iterable of int
            Receivers of a single message; by default the peers.
        expect : iterable of int
            Senders; by default `neighbours`, all nodes that may ever send.
        phase : int
            Number of the exchange, if a round has several of one message class.
        kind : type
            The message class, needed only where nothing is sent.
        max_age_s : float, optional
            The greatest age of a message that counts, where there are no rounds [s]; `math.inf`:
            any. By default `node.max_age_s`.

        Returns
        -------
        simpy.Event
            {sender: Received}, senders ascending. Under `rounds` it happens when every node has
            called this with the same class and phase or has ended its round, and every message was
            delivered or given up, or at the deadline; senders whose message did not come are
            absent, and later messages go to `receive`. Under the other schedules it happens at
            once, with the latest message of each sender that is not older than `max_age_s`.

        Raises
        ------
        ProtocolError
            As `send`; if nothing is sent and `kind` is not given; if there is a message for each
            receiver, and `to` names others; if `expect` names no other node, or `max_age_s` is
            negative or nan; under `rounds`, if another process of this node is in this exchange
            already.

        Examples
        --------
        >>> got = yield node.exchange(Model(theta=theta))
        >>> mixed = node.mix([theta, *(r.msg.theta for r in got.values())], weights)
        """
        limit_s = self.max_age_s if max_age_s is None else max_age_s
        require_time("exchange", "max_age_s", limit_s)
        if kind is not None:
            require_kind("exchange", "kind", kind)
        if expect is not None:
            expect = tuple(expect)
            require_nodes("exchange", "expect", expect, self.num_nodes, self.id)
        if to is not None and isinstance(msg, Mapping):
            to = tuple(to)
            if msg and set(to) != set(msg):
                raise ProtocolError(
                    f"exchange: to = {to}, and there are messages for {tuple(msg)}: `to` is for "
                    f"one message to several; leave it out{calling_line()}"
                )
        return self._messaging.exchange(msg, to, expect, phase, kind, limit_s)

    def superposed(self, received: Mapping[int, Received[Any]]) -> tuple[Ref, Ref]:
        """The sum of rows that were sent over the air at the same time.

        Over a radio, `OverTheAir` messages of several nodes to one are one frame (see
        `netsim.links.radio.superposition`): with senders k, their power gains g_k and the largest
        root mean square nu of their rows,

            total = sum of 1{g_k >= g_th} row_k + nu z,    Var z = E[1/g; g >= g_th] / min S_k

        S_k being their mean SNRs. A frame takes D / bandwidth, and no bits; nu and the counts come
        by a control channel that costs nothing. Of several frames the sum is returned; of rows that
        came over wires, as bits, it is exact.

        Of `Energies` it is the received energy over the noise's, of mean sum S_k / S_ref row_k
        (`netsim.node.superposition.sum_of_energies`).

        Parameters
        ----------
        received : mapping of int to Received
            `OverTheAir` or `Energies` messages by sender, as `exchange` or `gather` give them; one
            that was truncated everywhere is an outage, and not among them.

        Returns
        -------
        total : Ref
            (D,) like a row; lazy.
        count : Ref
            (D,) how many rows are in each entry of it; lazy. At once, under every schedule.

        Raises
        ------
        ProtocolError
            If there is nothing, or something else than `OverTheAir` messages.

        Examples
        --------
        >>> got = yield node.exchange({}, expect=node.neighbours, kind=OverTheAir)
        >>> total, count = node.superposed(got)
        """
        return self._superposed(received)

    # -- models and training ---------------------------------------------------------------------

    def initial(self) -> Ref:
        """The initial model: common to all nodes or the node's own, as the scenario says.

        Returns
        -------
        Ref
            A whole model, at once and under every schedule.

        Examples
        --------
        >>> theta = node.initial()
        >>> head = theta.part("head")
        """
        return self._training.initial()

    def hold(self, theta: Ref) -> Held:
        """Keep a model that several processes of this node train and replace.

        Parameters
        ----------
        theta : Ref
            The first model.

        Returns
        -------
        Held
            `held.theta`, `held.train(...)`, `held.replace(theta)`, `held.settled()`;
            `[training] on_arrival` decides about a model that arrives during training. At once;
            for asynchronous schedules, where messages arrive at any time.

        Raises
        ------
        ProtocolError
            If `theta` is another node's.

        Examples
        --------
        >>> held = node.hold(node.initial())
        >>> yield held.train(steps=5)  # while another process may call held.replace(...)
        """
        return self._hold(theta)

    def train(
        self,
        theta: Ref,
        steps: int | None = None,
        epochs: int | None = None,
        loss: Callable[..., Any] | None = None,
        given: Sequence[Any] = (),
        learn: Mapping[str, Ref] | None = None,
        anchor: tuple[Ref, float] | None = None,
        optimizer: Ref | None = None,
        learning_rate: float | None = None,
        stream: str = "train",
        same_batch: bool = False,
        batch: BatchKey | None = None,
        part: str | None = None,
        privacy: Privacy | None = None,
    ) -> simpy.Event:
        """Train a model on the node's own data.

        Parameters
        ----------
        theta : Ref
            The model to start from; it stays as it is.
        steps, epochs : int
            One of the two: minibatch steps, or passes over the node's training samples.
        loss : callable
            `loss(model, batch, learned, *given) -> scalar`, a module-level function; None is the
            mean cross-entropy. `@loss(uniforms=k)` above it asks for k draws a sample in `batch`.
        given : sequence of Ref or number
            Constant arguments of the loss; also Params and tuples, as in `compute`.
        learn : mapping of str to Ref
            Values that are trained together with the model.
        anchor : (Ref, float)
            Anchor and strength: adds strength / 2 * ||theta - anchor||^2 to the loss (FedProx,
            Ditto).
        optimizer : Ref
            State from an earlier `Trained`; None: a new state.
        learning_rate : float
            Overrides the scenario's.
        stream : str
            Names the counter of minibatches, for a node that trains two models.
        same_batch : bool
            With `steps`: all of them take one minibatch.
        batch : BatchKey
            With `steps`: all of them take this minibatch, from `node.batch()`.
        part : str
            The only part of the model that is trained, named as for `Ref.part`; None: all of it.
            The rest stays as it is to the last bit, whatever the optimiser, running statistics
            of its layers included. `optimizer` and `anchor` are of the part, and `clip_norm` looks
            at it alone. A step takes as much virtual time as one of the whole model.
        privacy : Privacy
            Train by DP-SGD: every sample's gradient is clipped, noise is added, and a step takes
            each sample with equal probability, on average as many as a minibatch has. For the
            model alone, without `learn`, `anchor`, `batch` and `part`. `api.PrivateTraining` counts
            the privacy cost epsilon.

        Returns
        -------
        simpy.Event
            `Trained(theta, learned, optimizer)` when its virtual compute time has passed: the
            processor does one job after another, at the same time as the radio. Under every
            schedule.

        Raises
        ------
        ProtocolError
            If not exactly one of `steps` and `epochs` is given (`steps` with `same_batch` or
            `batch`), or it is no whole number of at least 1; if there is no `loss` to read `given`
            or `learn`; if the node has no training data, a Ref is another node's, the model has no
            such `part`, or `anchor` or `optimizer` do not fit the model.

        Examples
        --------
        >>> trained = yield node.train(theta, epochs=1)
        >>> theta = trained.theta
        """
        return self._training.train(
            theta, steps, epochs, loss, given, learn, anchor, optimizer, learning_rate, stream,
            same_batch, batch, part, privacy,
        )  # fmt: skip

    def batch(self, stream: str = "probe") -> BatchKey:
        """The next minibatch of the node's training data, for `outputs`, `gradient` and `train`.

        Parameters
        ----------
        stream : str
            Names the counter of minibatches; by default another one than that of `train`, so that
            the minibatches of training do not change.

        Returns
        -------
        BatchKey
            At once, under every schedule.

        Examples
        --------
        >>> batch = node.batch()
        >>> outputs = node.outputs([theta, other], batch)
        """
        return self._training.batch(stream)

    # -- code that brings its own learning --------------------------------------------------------

    def work(
        self,
        *,
        steps: int | None = None,
        examples: int | None = None,
        seconds: float | None = None,
    ) -> simpy.Event:
        """Take the processor's time and energy for a computation outside of netsim.

        Give one of the three arguments. Works and trainings of a node follow each other; a node
        that is off continues when it is on again.

        Parameters
        ----------
        steps : int
            Local steps, as those of `train`: `[compute]` says how long they take, and they count in
            `local_steps`. 0 or more.
        examples : int
            Examples that the computation uses, in minibatches of `[training] batch_size`; each
            minibatch counts as a local step.
        seconds : float
            Time on the nominal device of `[compute]` [s]; a node twice as fast takes half of it. No
            local steps; the energy is that of as many as the nominal device makes in that time.

        Returns
        -------
        simpy.Event
            None, when the processor is done; under every schedule.

        Raises
        ------
        ProtocolError
            If not one of them is given, or it is negative or no such number.

        Examples
        --------
        >>> weights, seen = fit(weights)  # in virtual time this takes none
        >>> yield node.work(examples=seen)
        """
        return self._foreign.work(steps, examples, seconds)

    def once(self, make: Callable[..., T], *arguments: Any) -> T:
        """Make an object that exists once in a run, or return it.

        It is for foreign code that all nodes use, such as an app or an agent. What nodes learn from
        each other must go through messages.

        Parameters
        ----------
        make : callable
            A class or a function of a module, which identifies the object.
        *arguments
            Arguments of the first call.

        Returns
        -------
        object
            The same for every node of the run; at once, under every schedule. If it has a method
            `close()`, the run calls that when it has ended, also by an error; it calls a method
            `ended()` before the summary of a complete run.

        Examples
        --------
        >>> app = node.once(App, params.folder)
        """
        return self._foreign.once(make, *arguments)

    def seeded(self, purpose: str) -> AbstractContextManager[int]:
        """Seed the global random numbers of Python, NumPy and PyTorch for foreign code.

        Parameters
        ----------
        purpose : str
            Names the stream of seeds; each call takes the next one.

        Returns
        -------
        context manager
            Inside it the global generators draw from a seed that depends on the run's seed, the
            node, the purpose and the number of the call; its value is that seed, for your own
            generators. Afterwards the generators have their former states. It must not contain a
            `yield`; under every schedule.

        Examples
        --------
        >>> with node.seeded("fit") as seed:
        ...     weights = fit(weights, np.random.default_rng(seed))
        """
        return self._foreign.seeded(purpose)

    def model(self, values: ArrayLike | Mapping[str, ArrayLike]) -> Ref:
        """Make a model from given numbers, to publish, mix or send it.

        Parameters
        ----------
        values : mapping of str to array_like, or array_like
            All parameters and buffers of the node's `[model]` by name, as its `state_dict()` has
            them; or all of them in that order as (D,), for a model without buffers between its
            parameters.

        Returns
        -------
        Ref
            A whole model, at once and under every schedule.

        Raises
        ------
        ProtocolError
            If they have other names or another shape, are not finite, or their order is ambiguous.

        Examples
        --------
        >>> node.publish(node.model(module.state_dict()), "received")
        """
        return self._foreign.model(values)

    def decide(self, observation: Mapping[str, ArrayLike]) -> simpy.Event:
        """Ask the run's agent for a decision.

        The agent is the one that plays the run (`netsim.gym`, `netsim.run(..., agent=...)`), or
        else the policy that the method has declared.

        Parameters
        ----------
        observation : mapping of str to array_like
            Values for the agent by name, as declared by `@algorithm(decides=...)`.

        Returns
        -------
        simpy.Event
            The action, in the form of the declared space; at once, under every schedule.

        Raises
        ------
        ProtocolError
            If the method has not declared that it asks, or observation or action are not as
            declared.

        Examples
        --------
        >>> chosen = yield node.decide({"round_trip_s": seen_s})
        """
        return self._foreign.decide(observation)

    # -- the radio and the battery ---------------------------------------------------------------

    def allocate(
        self,
        shares: Mapping[int, float] | None,
        direction: Literal["uplink", "downlink"] = "uplink",
        powers: Mapping[int, float] | None = None,
    ) -> None:
        """Divide the band of this base station, in place of its scheduler, until the next call.

        A node keeps its share whether it uses it or not, and messages from or to it divide it
        equally. Broadcasts and the messages of all other nodes divide the rest equally. A message
        without a share waits, and keeps what it has sent. If shares change, the part of a packet
        that has been sent counts, and the rest continues at the new rate. A node has a constant
        power per hertz, so its SNR does not depend on its share.

        Parameters
        ----------
        shares : mapping of int to float, or None
            Share of the band of each node, in [0, 1], at most 1 in total; {}: no node has its own
            share; None: the scheduler divides the band again.
        direction : {"uplink", "downlink"}
            Messages of nodes to this one, or of this one to them.
        powers : mapping of int to float
            By node the transmit power over the full one, in (0, 1], of its messages (downlink: of
            the messages to it) that begin from now on; by default 1.

        Raises
        ------
        ProtocolError
            If the scenario's `[radio.mac]` is not `ofdma` with `scheduler = "round_robin"`, this
            node is no base station (role `server`), or a node, a share or a power is not valid.

        Notes
        -----
        Returns at once and costs nothing, under every schedule: a base station informs its cell
        on a control channel. With `@algorithm(allocates=True)` netsim refuses a scenario without
        such a band before it plays it.

        Examples
        --------
        >>> node.allocate({1: 0.25, 2: 0.75})
        >>> node.allocate({1: 0.5}, "downlink", powers={1: 0.1})
        """
        self._radio.allocate(shares, direction, powers)

    def csi(self, sender: int, receiver: int | None = None) -> Csi:
        """Channel state information of this node and another one.

        The SNR is the one by which a sender chooses its rate: the present one, or that of
        `[radio.rate] csi_delay_s` ago, without interference.

        Parameters
        ----------
        sender : int
        receiver : int
            By default this node.

        Returns
        -------
        Csi
            `Csi(snr_db, rate_bps)`; at once, under every schedule.

        Raises
        ------
        ProtocolError
            If neither of the two is this node, or a wire links them.

        Examples
        --------
        >>> channel = node.csi(3)
        >>> upload_s = bits / channel.rate_bps  # with the whole band
        """
        return self._radio.csi(sender, receiver)

    @property
    def queued(self) -> int:
        """Messages of this node that wait to be sent, one for each receiver."""
        return self._radio.queued

    @property
    def battery_j(self) -> float:
        """Energy left in this node's battery [J]; infinite where it has none."""
        return self._radio.battery_j

    @property
    def energy_j(self) -> float:
        """Energy that this node has drawn so far [J]."""
        return self._radio.energy_j

    # -- looking at models -----------------------------------------------------------------------

    @property
    def classes(self) -> tuple[int, ...]:
        """The labels of this node's present training samples, ascending."""
        return self._shards.classes(self._shards.held[self.id])

    def outputs(self, refs: Sequence[Ref], batch: BatchKey) -> Ref:
        """Outputs of several models on one minibatch, in evaluation mode.

        Parameters
        ----------
        refs : sequence of Ref
            m whole models of one architecture.
        batch : BatchKey
            From `node.batch()`: n samples.

        Returns
        -------
        Ref
            (m, n, L) for L outputs; lazy. At once, under every schedule.

        Raises
        ------
        ProtocolError
            If a Ref is another node's or no whole model.

        Examples
        --------
        >>> outputs = node.outputs([theta, received.msg.theta], node.batch())
        >>> weights = node.compute(similarity, outputs)
        """
        return self._evaluation.outputs(refs, batch)

    def loss(self, ref: Ref, split: str = "validation") -> Ref:
        """Mean cross-entropy of a model over one of the node's splits.

        Parameters
        ----------
        ref : Ref
            A whole model.
        split : str
            `train`, `validation` or `test`.

        Returns
        -------
        Ref
            () scalar; lazy. At once, under every schedule.

        Raises
        ------
        ProtocolError
            If the node has no such samples, or the Ref is another node's.

        Examples
        --------
        >>> better = yield node.value([node.loss(mine), node.loss(theirs)])
        >>> chosen = mine if better[0] <= better[1] else theirs
        """
        return self._evaluation.loss(ref, split)

    def gradient(self, ref: Ref, split: str | BatchKey = "validation") -> Ref:
        """Gradient of `loss` with respect to the model, in evaluation mode.

        Parameters
        ----------
        ref : Ref
            A whole model.
        split : str or BatchKey
            `train`, `validation` or `test`; or a minibatch, as `node.batch()` gives it.

        Returns
        -------
        Ref
            A row like the model's, (D,), zero in the buffer columns; lazy. At once, under every
            schedule.

        Raises
        ------
        ProtocolError
            As `loss`.

        Examples
        --------
        >>> gradient = node.gradient(mixed)
        >>> weights = node.compute(step, weights, gradient, deltas)
        >>> stepped = theta - 0.1 * node.gradient(theta, node.batch("train"))
        """
        return self._evaluation.gradient(ref, split)

    def measure(
        self,
        fn: Callable[..., Any],
        theta: Ref,
        split: str = "train",
        given: Sequence[Any] = (),
        like: tuple[int, ...] = (),
    ) -> Ref:
        """Apply a function of a model and all samples of one split.

        Parameters
        ----------
        fn : callable
            `fn(model, batch, *given)`, module-level; gets `model(x)`, `model.features(x)` in
            evaluation mode and without gradients, and returns a tensor of shape `like`.
        theta : Ref
            A whole model.
        split : str
            `train`, `validation` or `test`: the node's own samples.
        given : sequence of Ref or number
            Further arguments of `fn`; also Params and tuples, as in `compute`.
        like : tuple of int
            Shape of the result; () is a scalar.

        Returns
        -------
        Ref
            `like`; lazy. At once, under every schedule.

        Raises
        ------
        ProtocolError
            If `fn` is no module-level function, `theta` no whole model, a Ref another node's, or
            the node has no such samples.

        Examples
        --------
        >>> means = node.measure(class_means, theta, like=(num_classes, num_features))
        >>> node.broadcast(Prototypes(means=means))
        """
        return self._evaluation.measure(fn, theta, split, given, like)

    # -- values of values ------------------------------------------------------------------------

    def mix(self, refs: Sequence[Ref], weights: Sequence[float] | Ref) -> Ref:
        """Weighted sum of Refs of one shape.

        Parameters
        ----------
        refs : sequence of Ref
            m Refs of one shape.
        weights : sequence of float or Ref
            (m,); they may be lazy.

        Returns
        -------
        Ref
            Of the same shape, a whole model if they are; lazy. At once, under every schedule.

        Raises
        ------
        ProtocolError
            If the numbers of Refs and weights or the shapes of the Refs differ, or a Ref is another
            node's.

        Examples
        --------
        >>> thetas = [theta, *(received.msg.theta for received in got.values())]
        >>> theta = node.mix(thetas, [1 / len(thetas)] * len(thetas))
        """
        return self._values.mix(refs, weights)

    def select(
        self,
        thetas: Sequence[Ref],
        sizes: Sequence[float],
        coins: Sequence[float],
        budget: int | None,
        state: Ref | None = None,
    ) -> tuple[Ref, Ref]:
        """Greedy selection of models by validation loss (`netsim.learning.select.greedy`).

        Parameters
        ----------
        thetas : sequence of Ref
            The node's own model, then c candidates, already shuffled.
        sizes : sequence of float
            (1 + c,) training sizes, own first.
        coins : sequence of float
            (c,) draws in [0, 1), one for each candidate.
        budget : int or None
            Largest number of models chosen, own included.
        state : Ref
            State at the end of an earlier batch of candidates.

        Returns
        -------
        weights : Ref
            (1 + c,); lazy.
        state : Ref
            For the next batch of candidates; lazy. At once, under every schedule.

        Raises
        ------
        ProtocolError
            If the numbers of models, sizes and coins do not fit, or the node has no validation
            samples.

        Examples
        --------
        >>> coins = node.uniform("coins", len(thetas) - 1)
        >>> weights, _ = node.select(thetas, sizes, coins, budget=5)
        """
        return self._values.select(thetas, sizes, coins, budget, state)

    def pool(self, thetas: Sequence[Ref], sizes: Sequence[float], state: Ref | None = None) -> Ref:
        """State from which `select` starts if candidates come in batches.

        A first pass over all batches adds every candidate (`netsim.learning.select.pooled`); a
        second one offers them, batch by batch, to `select`.

        Parameters
        ----------
        thetas : sequence of Ref
            The node's own model, then the candidates of this batch.
        sizes : sequence of float
            (len(thetas),) training sizes, own first.
        state : Ref
            State at the end of an earlier batch.

        Returns
        -------
        Ref
            The state; lazy. At once, under every schedule.

        Raises
        ------
        ProtocolError
            If the numbers of sizes and models differ.

        Examples
        --------
        >>> for thetas, sizes in batches:
        ...     state = node.pool(thetas, sizes, state)
        """
        return self._values.pool(thetas, sizes, state)

    def compute(
        self, fn: Callable[..., Any], *args: Any, like: Any = None, duration_s: float = 0.0
    ) -> Any:
        """Apply a pure function to this node's values.

        Parameters
        ----------
        fn : callable
            Module-level; takes tensors where `args` holds Refs (also within tuples, lists and
            dicts) and returns a tensor or a tuple of tensors. One marked `@batched` runs for many
            nodes at once.
        *args : Ref or number or Params, or tuples, lists and dicts of them
            Arguments of `fn`, with their values at this call.
        like : Ref or tuple of int or tuple of either
            Shapes of the results, if they depend on values; a result like a whole model is one.
        duration_s : float
            Virtual time for which this keeps the processor busy [s].

        Returns
        -------
        Ref or tuple of Ref
            Lazy. At once, under every schedule; the processor's next training waits for
            `duration_s`.

        Raises
        ------
        ProtocolError
            If `fn` is a lambda, a closure or a bound method, its shapes can't be inferred, an
            argument may change until `fn` is called, a value of its module that it reads has
            changed, `duration_s` is negative, or a Ref is another node's.

        Examples
        --------
        >>> weights = node.compute(softmax_of_similarity, outputs, params.temperature)
        >>> mixed = node.mix(thetas, weights)
        """
        require_duration("compute", "duration_s", duration_s)
        return self._values.compute(fn, *args, like=like, duration_s=duration_s)

    def value(self, x: Any, duration_s: float | None = None, default: Any = None) -> simpy.Event:
        """Wait for the numbers of lazy values, for control flow that depends on them.

        netsim computes together all values that nodes ask for before the first of them is due.

        Parameters
        ----------
        x : Ref or tuple, list or dict of Refs
            At most 4,096 numbers.
        duration_s : float
            Virtual time until the numbers are available [s]; None: that of one local step.
        default : object
            Replaces the numbers under `--timing-only`.

        Returns
        -------
        simpy.Event
            A float for a scalar Ref, a numpy array otherwise, in the structure of `x`, when
            `duration_s` has passed with the node on. Under every schedule.

        Raises
        ------
        ProtocolError
            If there are too many numbers, a Ref is another node's, `duration_s` is negative, or
            there is no default under `--timing-only`.

        Examples
        --------
        >>> losses = yield node.value([node.loss(t) for t in thetas], default=[0.0] * len(thetas))
        >>> best = thetas[losses.index(min(losses))]
        """
        if duration_s is not None:
            require_duration("value", "duration_s", duration_s)
        return self._values.value(x, duration_s, default)

    # -- what a node shows -----------------------------------------------------------------------

    def publish(
        self,
        ref: Ref,
        stage: str,
        predict: Callable[..., Any] | None = None,
        given: Sequence[Any] = (),
    ) -> None:
        """Publish the model that this node would predict with now.

        Evaluations, at fixed virtual times, measure the model published last.

        Parameters
        ----------
        ref : Ref
            A whole model.
        stage : str
            Name of the model in the metrics: `received`, `mixed`, `trained`.
        predict : callable
            `predict(model, x, *given) -> (n, L)`, module-level; replaces the plain forward pass.
        given : sequence of Ref or number
            Further arguments of `predict` beside the model.

        Raises
        ------
        ProtocolError
            If a Ref is another node's, `ref` no whole model, `predict` no module-level function,
            something `given` may change, or `stage` is no name: letters, digits, underscores,
            blanks, dots, + and -, and neither `recorded` nor `reported`.

        Notes
        -----
        Returns at once and costs nothing, under every schedule.

        Examples
        --------
        >>> node.publish(theta, "trained")
        >>> node.publish(theta, "trained", predict=nearest_prototype, given=[prototypes])
        """
        self._publishing.publish(ref, stage, predict, given)

    def record(self, name: str, value: Ref | float | Sequence[float]) -> None:
        """Record a number, or a few, as rows of `metrics/`.

        Rows have the node, the virtual time of this call, the stage `recorded`, and the node's
        local steps, bits and energy up to then. `summary.json` has the last ones of all nodes
        under `recorded`.

        Parameters
        ----------
        name : str
            The metric: letters, digits and underscores, and no metric of the simulator's own.
        value : Ref or float or sequence of float
            At most 256 numbers; entry i of several is the metric `name[i]`. A Ref stays lazy: the
            run reads it when it writes rows, at the next evaluation.

        Raises
        ------
        ProtocolError
            If the name is taken or no name, there are too many numbers, or a Ref is another node's.

        Notes
        -----
        Returns at once and costs nothing, under every schedule. Under `--timing-only` nothing is
        recorded.

        Examples
        --------
        >>> node.record("drift", node.compute(distance, theta, mixed))
        >>> node.record("neighbours_heard", len(got))
        """
        self._publishing.record(name, value)

    def log_weights(
        self,
        ids: Sequence[int],
        weights: Ref | Sequence[float],
        node: int | None = None,
        what: Literal["applied", "learned"] = "applied",
    ) -> None:
        """Log the collaboration graph: this node's weights on others from now on.

        Parameters
        ----------
        ids : sequence of int
            Nodes to which the weights belong, this node included if it has one.
        weights : Ref or sequence of float
            (len(ids),); they may be lazy.
        node : int
            Node whose weights these are, if a server computes them for another node.
        what : {"applied", "learned"}
            Shares of the mixture that the node makes now (its own share covers all of its own
            values), or its method's estimates about peers, whether or not the node has their
            models. A method that learns weights logs both.

        Raises
        ------
        ProtocolError
            If the numbers of weights and ids differ, an id is no node's or occurs twice, or the
            Ref is another node's.

        Notes
        -----
        Returns at once and costs nothing, under every schedule.

        Examples
        --------
        >>> weights = node.compute(weigh, outputs)
        >>> node.log_weights([node.id, *got], weights)
        """
        if isinstance(weights, Ref):
            weights.require_owner(self.id)
        require_nodes("log_weights", "ids", ids, self.num_nodes, -1)
        if node is not None:
            require_nodes("log_weights", "node", (node,), self.num_nodes, -1)
        self._publishing.log_weights(ids, weights, node, what)

    def warn(self, subject: str, text: str) -> None:
        """Warn the user of something to know before reading the numbers.

        The warning is in the summary's `warnings`, on the page and in the terminal: once per
        subject and run, with the number of nodes that gave it.

        Parameters
        ----------
        subject : str
            Name that distinguishes the warnings of an algorithm.
        text : str
            A clause whose subject is the node.

        Notes
        -----
        Returns at once and costs nothing, under every schedule.

        Examples
        --------
        >>> node.warn("no peers", "has heard of no peer and learns alone")
        """
        self._publishing.warn(subject, text)

    def keep(self, name: str, ref: Ref) -> None:
        """Keep a value after the run.

        At its end the run writes the last value of each name to `kept/<name>.npz` in the run
        folder, with an array `node_<id>` for each node.

        Parameters
        ----------
        name : str
        ref : Ref

        Raises
        ------
        ProtocolError
            If the Ref is another node's, the name is none for a file, or that of a file that the
            scenario's `[metrics] keep` writes.

        Notes
        -----
        Returns at once and costs nothing, under every schedule.

        Examples
        --------
        >>> encoder = trained.learned["encoder"]
        >>> node.keep("encoder", encoder)
        """
        self._publishing.keep(name, ref)

    # -- randomness ------------------------------------------------------------------------------

    def uniform(self, purpose: str, n: int, common: bool = False) -> list[float]:
        """Uniform draws in [0, 1).

        They depend on the seed, the node, the purpose and the number of earlier draws for it, and
        on nothing else.

        Parameters
        ----------
        purpose : str
            Names the stream of draws.
        n : int
            Number of draws, the next ones of this stream.
        common : bool
            Whether every node gets the same draws, as for an initial value that all share.

        Returns
        -------
        list of float
            (n,); at once, under every schedule.

        Raises
        ------
        ProtocolError
            If `n` is no whole number of at least 0.

        Examples
        --------
        >>> (u,) = node.uniform("partner", 1)
        >>> partner = node.peers[int(u * len(node.peers))]
        """
        require_count("uniform", "n", n, least=0)
        return self._draws.uniform(purpose, n, common)

    def permutation(self, purpose: str, ids: Sequence[int]) -> list[int]:
        """Given ids in a random order, a new one at every call.

        Parameters
        ----------
        purpose : str
            Names the stream of draws, shared with `uniform`.
        ids : sequence of int

        Returns
        -------
        list of int
            At once, under every schedule.

        Examples
        --------
        >>> order = node.permutation("candidates", node.peers)
        >>> first = order[0]
        """
        return self._draws.permutation(purpose, ids)
