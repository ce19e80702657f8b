"""The nodes of one run: each part made with what it needs, then the node that hands verbs to it."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial

from netsim.clock import Clock
from netsim.engine.assembly import Learning, Membership
from netsim.engine.network_assembly import Devices, exchange_interval_ns
from netsim.learning.refs import Ref
from netsim.links.link import Deliveries, Link
from netsim.messaging.barrier import Barrier
from netsim.messaging.latest_messages import LatestMessages
from netsim.messaging.mailbox import HandOvers, Mailbox
from netsim.node.adversary import Adversary
from netsim.node.checks import MixingCheck, TaskGuard
from netsim.node.decisions import Decisions
from netsim.node.draws import Draws
from netsim.node.evaluation_verbs import EvaluationVerbs
from netsim.node.foreign_verbs import ForeignVerbs
from netsim.node.internals import NodeInternals
from netsim.node.live_model import Held
from netsim.node.messaging import Inbox, MessagingVerbs, Outbox, RequestReply
from netsim.node.neighbourhood import Neighbourhood
from netsim.node.node import Node
from netsim.node.processor import Processor
from netsim.node.publishing_verbs import LoggedWeights, PublishingVerbs
from netsim.node.radio_verbs import RadioVerbs
from netsim.node.run_objects import RunObjects
from netsim.node.superposition import sum_superposed
from netsim.node.training_verbs import TrainingVerbs
from netsim.node.value_verbs import ValueVerbs
from netsim.node.wakeups import ClockWakeups, RoundWakeups, Wakeups
from netsim.recording.recorder import Recorder
from netsim.schedules import Clock as WakeupTimes
from netsim.world.builder import SERVER, World


class NodeAssembly:
    """Maker of the nodes of one run, in the order of their ids.

    Parameters
    ----------
    wakeups : netsim.schedules.Clock or Barrier
        The wake-up times that the schedule gives, or the barrier of `rounds`.
    counts : Counter
        Where nodes count what the summary shows.
    weights_due : list of LoggedWeights
        Where nodes put collaboration weights that are to be written.
    tasks : tuple of str or None
        Those that the algorithm says it learns; None: it does not say.
    max_age_s : float
        The greatest age of a message that counts [s].
    objects : RunObjects
        Where nodes put what exists once in a run.
    decisions : Decisions
        Whom nodes ask for decisions.
    """

    def __init__(
        self,
        world: World,
        clock: Clock,
        recorder: Recorder,
        learning: Learning,
        membership: Membership,
        link: Link,
        devices: Devices,
        wakeups: WakeupTimes | Barrier,
        counts: Counter[str],
        weights_due: list[LoggedWeights],
        tasks: tuple[str, ...] | None = None,
        max_age_s: float = math.inf,
        *,
        objects: RunObjects,
        decisions: Decisions,
    ) -> None:
        self._world, self._clock, self._recorder = world, clock, recorder
        self._learning, self._membership = learning, membership
        self._link, self._devices = link, devices
        self._times = None if isinstance(wakeups, Barrier) else wakeups
        self._barrier = wakeups if isinstance(wakeups, Barrier) else None
        self._counts, self._weights_due = counts, weights_due
        self._deliveries = Deliveries()
        self._hands: list[HandOvers] = []
        devices.availability.add_listener(self._switched)
        self._mixing = MixingCheck(recorder.warnings)
        self._guard = TaskGuard(learning.shards.task, tasks)
        self._max_age_s, self._objects = max_age_s, objects
        self._decisions = decisions
        self._servers = [i for i, role in enumerate(world.roles) if role == SERVER]
        learning.scheduler.sums.told = self._told_of_sum

    def _switched(self, node: int, on: bool) -> None:
        if on:
            self._hands[node].switched_on()

    def node(self, parts: NodeInternals) -> Node:
        """The node that its algorithm sees."""
        schedule = self._world.scenario.exchange
        return Node(
            parts,
            self._clock,
            len(self._world.roles),
            str(schedule.schedule),  # type: ignore[attr-defined] # of every family member
            getattr(schedule, "slots_per_exchange", None),
            self._learning.shards,
            self._learning.optimizer.learning_rate,
            self._max_age_s,
        )

    def internals(self, i: int) -> NodeInternals:
        """The parts of a node, which are made in the order of their ids."""
        world, clock, link, counts = self._world, self._clock, self._link, self._counts
        learning, availability = self._learning, self._devices.availability
        role, shards, scheduler = world.roles[i], learning.shards, learning.scheduler

        processor = Processor(
            i,
            clock,
            self._devices.speed,
            self._devices.speed_factor[i],
            availability,
            world.streams,
            self._recorder,
            self._devices.meter,
        )
        draws = Draws(i, world.streams)
        training = TrainingVerbs(
            i,
            role,
            learning.initial[i],
            scheduler,
            processor,
            shards,
            learning.optimizer,
            learning.schedule,
            clock,
            self._mixing,
            self._guard,
        )
        values = ValueVerbs(i, clock, scheduler, processor, shards, self._mixing)

        wakeups, adversary = self._wakeups(i), self._adversary(i, values)
        outbox = Outbox(
            i,
            clock,
            link,
            learning.parameter_bits,
            wakeups,
            self._deliveries,
            len(world.roles),
            self._recorder.uses,
            adversary,
            self._membership.neighbours[i],
            self._recorder.warnings,
        )
        hands = HandOvers(i, clock, availability.off)
        self._hands.append(hands)
        if self._barrier is not None:
            hands.on_listening = self._barrier.recheck
        requests = RequestReply(hands, role, link, outbox, availability, counts, world.streams)
        neighbourhood = self._neighbourhood(i, requests)
        is_direct = self._barrier is None and adversary is None
        takers = self._deliveries.takers if is_direct else None
        mailbox = Mailbox(hands, world.streams)
        latest = LatestMessages(i, takers, mailbox.take_out)
        inbox = Inbox(i, self._barrier, mailbox, latest, requests, adversary, counts)
        self._deliveries.append(inbox.deliver)
        messaging = MessagingVerbs(
            hands,
            link,
            self._barrier,
            outbox,
            self._deliveries,
            mailbox,
            latest,
            neighbourhood.neighbours,
            neighbourhood.peers,
            world.architectures[i].num_parameters * learning.parameter_bits,
        )
        return NodeInternals(
            id=i,
            role=role,
            wakeups=wakeups,
            neighbourhood=neighbourhood,
            messaging=messaging,
            requests=requests,
            outbox=outbox,
            inbox=inbox,
            training=training,
            processor=processor,
            hold=partial(
                Held,
                i,
                clock=clock,
                on_arrival=world.scenario.training.on_arrival,
                counts=counts,
                train=training.train,
                mix=values.mix,
                works=lambda: processor.works,
                drop=processor.drop,
            ),
            superposed=partial(sum_superposed, values.compute, world.streams.seed),
            values=values,
            evaluation=EvaluationVerbs(i, scheduler, shards, self._guard, self._recorder.warnings),
            publishing=PublishingVerbs(
                i,
                clock,
                self._weights_due,
                self._mixing,
                self._recorder.warnings,
                None if learning.timing_only else partial(self._spent, i, processor),
                world.scenario.metrics.keep,
            ),
            draws=draws,
            foreign=ForeignVerbs(
                i,
                processor,
                draws,
                learning.initial[i],
                shards.batch_size,
                self._objects,
                self._decisions,
                clock,
            ),
            radio=RadioVerbs(i, len(world.roles), clock, link, self._devices.meter),
        )

    def _spent(self, i: int, processor: Processor) -> tuple[int, int, float]:
        """Local steps, bits transmitted and energy [J] of a node so far."""
        drawn_j = self._devices.meter.spent_j(i, self._clock.now)
        return processor.local_steps, self._link.bits_transmitted_by(i), drawn_j

    def _told_of_sum(self, total: Ref, refs: Sequence[Ref], weights: Sequence[float]) -> None:
        self._mixing.note_mixture(total, refs, weights, self._clock.now)

    def _wakeups(self, i: int) -> Wakeups:
        clock, slot_ns, recorder = self._clock, self._devices.slot_ns, self._recorder
        if self._barrier is not None:
            return RoundWakeups(i, clock, slot_ns, recorder, self._barrier)
        assert self._times is not None
        interval_ns = exchange_interval_ns(self._world.scenario.exchange)
        availability, counts = self._devices.availability, self._counts
        return ClockWakeups(
            i, clock, slot_ns, recorder, self._times, interval_ns, availability, counts
        )

    def _adversary(self, i: int, values: ValueVerbs) -> Adversary | None:
        attack = self._world.scenario.attack
        if attack is None or i not in self._world.malicious:
            return None
        return Adversary(i, self._world.streams.seed, attack, values.compute)

    def _neighbourhood(self, i: int, requests: RequestReply) -> Neighbourhood:
        neighbours, left_out = self._membership.neighbours[i], self._membership.left_out
        servers = [j for j in self._servers if j not in left_out]
        return Neighbourhood(
            i,
            self._clock,
            neighbours,
            tuple(j for j in servers if j in neighbours),
            tuple(j for j in servers if j not in neighbours and j != i),
            self._world.meetings,
            left_out,
            self._link,
            requests.probe,
        )
