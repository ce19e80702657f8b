"""Counts the energy that every node draws, and switches off nodes whose battery is empty."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from netsim.channels.sleep import Rhythm
from netsim.clock import Clock
from netsim.devices.availability import Availability
from netsim.devices.energy import Energy
from netsim.devices.energy.battery import Battery
from netsim.units import NS_PER_S, to_s


class EnergyMeter:
    """Counts the energy that nodes draw during one run.

    Parameters
    ----------
    env : Clock
    energy : Energy
    availability : Availability
        Switches off the nodes whose battery is empty.
    radiated_w : sequence of float
        Each node's transmit power; 0 over wires.
    distance_m : callable or None
        (node, node, time in ns) -> distance in m; None where nodes have no places.
    batteries_j : sequence of float or None
        What each node's battery holds; None: without end.
    batch_size : int
        Samples of a local step.
    rhythms : sequence of Rhythm or None
        When each node's radio is awake; empty: all of them always. A radio that sends or receives
        outside that time is awake; one that only waits for its turn or for a reply counts as
        asleep.

    Attributes
    ----------
    by_bits : bool
        Whether `carried` and `hears` cost anything.
    listens : bool
        Whether `overhears` costs anything.
    planned : int
        How many events of the clock are this meter's and still to come.
    """

    def __init__(
        self,
        env: Clock,
        energy: Energy,
        availability: Availability,
        radiated_w: Sequence[float],
        distance_m: Callable[[int, int, int], float] | None,
        batteries_j: Sequence[float | None],
        batch_size: int,
        rhythms: Sequence[Rhythm | None] = (),
    ) -> None:
        self._env, self._availability, self._radio = env, availability, energy.radio
        self._standing_w: float = energy.radio.standing_w()
        self._saved_w: float = self._standing_w - energy.radio.sleeping_w()
        self._rhythms = {
            node: rhythm
            for node, rhythm in enumerate(rhythms)
            if rhythm is not None and self._saved_w
        }
        self._slept_ns = [0] * len(batteries_j)
        self._on_since_ns = [0] * len(batteries_j)
        self._radiated_w = radiated_w
        self._sending_w = [energy.radio.sending_w(w) for w in radiated_w]
        self._receiving_w = energy.radio.receiving_w()
        self.listens = self._receiving_w != 0.0
        self._step_j = energy.compute.step_j(batch_size)
        self._distance_m = distance_m if energy.radio.needs_places else None
        self.by_bits = self._distance_m is not None
        self._radio_j = [0.0] * len(batteries_j)
        self._compute_j = [0.0] * len(batteries_j)
        self._batteries = {
            node: self._battery(node, joules)
            for node, joules in enumerate(batteries_j)
            if joules is not None
        }
        self._plans = dict.fromkeys(self._batteries, 0)
        self.planned = 0
        for node in self._batteries:
            self._plan(node)

    def set_radiated_w(self, radiated_w: Sequence[float]) -> None:
        """Let nodes send with another power [W] from now on."""
        self._radiated_w = radiated_w
        self._sending_w = [self._radio.sending_w(w) for w in radiated_w]

    # -- energy drawn ---------------------------------------------------------------------------

    def on_air(
        self,
        src: int,
        receivers: Sequence[int],
        from_ns: int,
        to_ns: int,
        airtime_ns: int,
        power: float = 1.0,
    ) -> None:
        """A node sends, and others receive, for a time spread evenly between two instants.

        Parameters
        ----------
        src : int
        receivers : sequence of int
            Those that listen. The sender may be among them; it only sends.
        from_ns, to_ns : int
            Where `to_ns` is the earlier one, the time is taken back.
        airtime_ns : int
            At most |to_ns - from_ns|; negative where it is taken back.
        power : float
            Transmit power over the sender's full one.
        """
        sending_w = self._sending_w[src]
        if power != 1.0:
            sending_w = self._radio.sending_w(power * self._radiated_w[src])
        watt = sending_w + self._woken_w(src, from_ns, to_ns)
        self._radio_j[src] += watt * airtime_ns / NS_PER_S
        if self._batteries:
            self._drain(src, watt, from_ns, to_ns, airtime_ns)
        if self._receiving_w or self._rhythms:
            for node in receivers:
                if node != src:
                    self.receives(node, from_ns, to_ns, airtime_ns)

    def receives(self, node: int, from_ns: int, to_ns: int, airtime_ns: int) -> None:
        """A node receives for a time spread evenly between two instants.

        Parameters
        ----------
        node : int
        from_ns, to_ns, airtime_ns : int
            See `on_air`.
        """
        watt = self._receiving_w + self._woken_w(node, from_ns, to_ns)
        self._radio_j[node] += watt * airtime_ns / NS_PER_S
        self._drain(node, watt, from_ns, to_ns, airtime_ns)

    def overhears(self, nodes: Iterable[int], from_ns: int, to_ns: int, airtime_ns: int) -> None:
        """Nodes that are on and awake receive what is not for them.

        Parameters
        ----------
        nodes : iterable of int
        from_ns, to_ns, airtime_ns : int
            See `on_air`.
        """
        off = self._availability.off
        for node in nodes:
            if node in off:
                continue
            heard_ns, rhythm = airtime_ns, self._rhythms.get(node)
            if rhythm is not None and to_ns > from_ns:
                asleep = rhythm.asleep_ns(from_ns, to_ns) / (to_ns - from_ns)
                heard_ns = round(airtime_ns * (1.0 - asleep))
            self._radio_j[node] += self._receiving_w * heard_ns / NS_PER_S
            self._drain(node, self._receiving_w, from_ns, to_ns, heard_ns)

    def _woken_w(self, node: int, from_ns: int, to_ns: int) -> float:
        """Extra power [W], on average, of a radio that would sleep in part of an interval."""
        rhythm = self._rhythms.get(node)
        if rhythm is None or from_ns == to_ns:
            return 0.0
        return self._saved_w * rhythm.asleep_ns(from_ns, to_ns) / (to_ns - from_ns)

    def carried(self, src: int, to: Sequence[int], receivers: Sequence[int], bits: int) -> None:
        """A node has sent a number of bits.

        Parameters
        ----------
        src : int
        to : sequence of int
            All receivers that they were sent to; the energy is that of the farthest.
        receivers : sequence of int
            Those of them that listened.
        bits : int
            Headers and repetitions included.
        """
        if self._distance_m is None:
            return
        now = self._env.now
        farthest_m = max(self._distance_m(src, node, now) for node in to)
        self._radio_j[src] += (joules := self._radio.sent_j(bits, farthest_m))
        self._take(src, joules)
        for node in receivers:
            self.hears(node, bits)

    def hears(self, node: int, bits: int) -> None:
        """A node has received a number of bits, headers and repetitions included."""
        self._radio_j[node] += (joules := self._radio.received_j(bits))
        self._take(node, joules)

    def computed(self, node: int, steps: int, from_ns: int, to_ns: int) -> None:
        """A node trains between two instants.

        Parameters
        ----------
        node : int
        steps : int
            Local steps.
        from_ns, to_ns : int
        """
        if self._step_j == 0.0:
            return
        joules = steps * self._step_j
        self._compute_j[node] += joules
        battery = self._batteries.get(node)
        if battery is None:
            return
        if to_ns > from_ns:
            battery.draw(from_ns, to_ns, joules * NS_PER_S / (to_ns - from_ns))
            self._plan(node)
        else:
            self._take(node, joules)

    def _drain(self, node: int, watt: float, from_ns: int, to_ns: int, airtime_ns: int) -> None:
        battery = self._batteries.get(node)
        if battery is not None and airtime_ns:
            watt *= airtime_ns / abs(to_ns - from_ns)
            battery.draw(min(from_ns, to_ns), max(from_ns, to_ns), watt)
            self._plan(node)

    def _take(self, node: int, joules: float) -> None:
        battery = self._batteries.get(node)
        if battery is not None:
            battery.take(joules)
            self._plan(node)

    # -- batteries -------------------------------------------------------------------------------

    def _plan(self, node: int) -> None:
        """Plan to switch a node off when its battery will be empty, as far as is known now."""
        self._plans[node] += 1
        empty_ns = self._batteries[node].empty_ns(self._env.now)
        if empty_ns is not None and node not in self._availability.dead:
            self.planned += 1
            self._env.after(empty_ns - self._env.now, self._die, node, self._plans[node])

    def _die(self, node: int, plan: int) -> None:
        self.planned -= 1
        if plan == self._plans[node] and node not in self._availability.dead:
            self._availability.die(node)

    def _battery(self, node: int, joules: float) -> Battery:
        on = node not in self._availability.off
        rhythm = self._rhythms.get(node)
        return Battery(joules, self._standing_w * on, self._saved_w * on, rhythm)

    def switched(self, node: int, on: bool) -> None:
        """A node has been switched on or off: it draws standing power, or none."""
        now, rhythm = self._env.now, self._rhythms.get(node)
        if on:
            self._on_since_ns[node] = now
        elif rhythm is not None:
            self._slept_ns[node] += rhythm.asleep_ns(self._on_since_ns[node], now)
        battery = self._batteries.get(node)
        if battery is not None:
            battery.left_j(now)
            battery.switched(self._standing_w * on, self._saved_w * on)
            self._plan(node)

    # -- totals ------------------------------------------------------------------------

    def spent_j(self, node: int, now_ns: int) -> float:
        """Joules that a node has drawn; a transmission or training counts from its start."""
        spent = self._radio_j[node] + self._compute_j[node]
        stands = self._standing_w or self._rhythms
        return spent + self._idle_j(node, now_ns) if stands else spent

    def _idle_j(self, node: int, now_ns: int) -> float:
        joules = self._standing_w * self._availability.on_s(node, now_ns)
        rhythm = self._rhythms.get(node)
        if rhythm is not None:
            joules -= self._saved_w * to_s(self._asleep_ns(node, rhythm, now_ns))
        return joules

    def _asleep_ns(self, node: int, rhythm: Rhythm, now_ns: int) -> int:
        """For how long [ns] a radio has slept by its schedule while its node was on."""
        slept_ns = self._slept_ns[node]
        if node not in self._availability.off:
            slept_ns += rhythm.asleep_ns(self._on_since_ns[node], now_ns)
        return slept_ns

    def total_j(self, now_ns: int) -> float:
        """Joules that all nodes have drawn."""
        return sum(self.spent_j(node, now_ns) for node in range(len(self._radio_j)))

    def summary(self, end_ns: int) -> dict[str, Any]:
        """For the summary: joules by cause and by node, and when which node died.

        Returns
        -------
        dict
            `radio_j` of sending and receiving beyond idling, `idle_j` (sleep included),
            `compute_j`, `per_node_j`; with batteries `died` [{node t_s}], `left_j` {node: joules}.
        """
        nodes = range(len(self._radio_j))
        found: dict[str, Any] = {
            "radio_j": sum(self._radio_j),
            "idle_j": sum(self._idle_j(node, end_ns) for node in nodes),
            "compute_j": sum(self._compute_j),
            "per_node_j": [self.spent_j(node, end_ns) for node in nodes],
        }
        if self._batteries:
            died = sorted(self._availability.dead.items(), key=lambda one: (one[1], one[0]))
            found["died"] = [{"node": node, "t_s": to_s(t_ns)} for node, t_ns in died]
            found["left_j"] = {
                node: max(0.0, battery.left_j(end_ns)) for node, battery in self._batteries.items()
            }
        return found
