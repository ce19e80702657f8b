"""Meter of the energy that nodes draw and harvest; it switches off nodes without any."""

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

from netsim.channels.sleep import Rhythm
from netsim.clock import Clock
from netsim.devices.availability import Availability
from netsim.devices.energy import Energy
from netsim.devices.energy.battery import Battery, Charge, HarvestingBattery
from netsim.devices.energy.harvest import Supply
from netsim.devices.energy.loads import Load, Loads, new_load
from netsim.devices.energy.states import Activity, Does, States
from netsim.units import NS_PER_S, to_s

NEAR_NS = NS_PER_S
"""A battery that will be empty no later than this has an event for each change of its loads."""


class EnergyMeter:
    """Meter of the energy that nodes draw during one run.

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
        What each node's battery holds when full; None: without end.
    batch_size : int
        Samples of a local step.
    rhythms : sequence of Rhythm or None
        When each node's radio is awake; empty: all of them always. A radio that sends or receives
        outside that time is awake; one that only waits for its turn or for a reply counts as
        asleep.
    supply : Supply or None
        What nodes with a battery harvest; None: nothing.
    wired : set of int
        Nodes without a radio, on wires alone.

    Attributes
    ----------
    by_bits : bool
        Whether `count_sent` and `count_received_bits` cost anything.
    listens : bool
        Whether `count_overhearing` costs anything.
    step_j : float
        Energy of a local step [J].
    unpaid_j : float
        Energy [J] of what was done before it was known to be more than a battery had.
    planned : int
        How many events of the clock are this meter's and still to come.
    oldest_ns : callable
        See `in_one_state`.
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
        supply: Supply | None = None,
        wired: Set[int] = frozenset(),
    ) -> None:
        self._env, self._availability, self._radio = env, availability, energy.radio
        standing_w: float = energy.radio.standing_w()
        self._saved_w: float = standing_w - energy.radio.sleeping_w()
        self._standing_w = [standing_w * (i not in wired) for i in range(len(batteries_j))]
        self._rhythms = {
            node: rhythm
            for node, rhythm in enumerate(rhythms)
            if rhythm is not None and self._saved_w and node not in wired
        }
        self._slept_ns, self._on_since_ns = [0] * len(batteries_j), [0] * len(batteries_j)
        self._radiated_w, self._wired = radiated_w, wired
        self._sending_w = [energy.radio.sending_w(w) for w in radiated_w]
        self._receiving_w = energy.radio.receiving_w()
        self.listens = self._receiving_w != 0.0
        self.step_j = energy.compute.step_j(batch_size)
        self._distance_m = distance_m if energy.radio.needs_places else None
        self.by_bits = self._distance_m is not None
        self._radio_loads = [Loads(self._rhythms.get(i)) for i in range(len(batteries_j))]
        self._compute_loads = [Loads() for _ in batteries_j]
        self._supply, self._paused = supply, dict[int, tuple[int, list[Load]]]()
        self._outages = [0] * len(batteries_j)
        level = 1.0 if supply is None else supply.law.start_level
        self._held_j = {i: level * j for i, j in enumerate(batteries_j) if j is not None}
        self._batteries = {
            node: self._battery(node, joules)
            for node, joules in enumerate(batteries_j)
            if joules is not None
        }
        self._plans = dict.fromkeys(self._batteries, 0)
        self._empty_ns: dict[int, int] = {}  # when each will be empty, as far as is known
        self._looks: dict[int, int] = {}  # when that is looked at again
        self._states: list[States] | None = None
        self.oldest_ns: Callable[[], int] = lambda: 0
        self.planned, self.unpaid_j = 0, 0.0
        for node in self._batteries:
            self._plan(node)

    def set_radiated_w(self, radiated_w: Sequence[float]) -> None:
        """Let nodes send with another power [W] from now on."""
        self._radiated_w = radiated_w
        self._sending_w = [self._radio.sending_w(w) for w in radiated_w]

    def in_one_state(self, oldest_ns: Callable[[], int]) -> None:
        """Count radios that are told to do several things at once as doing one of them.

        Parameters
        ----------
        oldest_ns : callable
            The instant [ns] before which nothing begins that will be counted later.
        """
        self.oldest_ns = oldest_ns
        if self._states is None:
            self._states = [States(self._receiving_w) for _ in self._radio_loads]

    # -- energy drawn ---------------------------------------------------------------------------

    def on_air(
        self,
        src: int,
        receivers: Sequence[int],
        from_ns: int,
        to_ns: int,
        airtime_ns: float,
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
        airtime_ns : float
            At most |to_ns - from_ns|; negative where it is taken back.
        power : float
            Transmit power over the sender's full one.
        """
        sending_w = self._sending_w[src]
        if power != 1.0:
            sending_w = self._radio.sending_w(power * self._radiated_w[src])
        self._count(src, sending_w, from_ns, to_ns, airtime_ns, Does.SEND)
        if self._receiving_w or self._rhythms:
            for node in receivers:
                if node != src:
                    self._count(node, self._receiving_w, from_ns, to_ns, airtime_ns, Does.RECEIVE)

    def count_reception(self, node: int, from_ns: int, to_ns: int, airtime_ns: float) -> None:
        """Count the reception of a node, spread evenly between two instants.

        Parameters
        ----------
        node : int
        from_ns, to_ns, airtime_ns : int
            See `on_air`.
        """
        self._count(node, self._receiving_w, from_ns, to_ns, airtime_ns, Does.RECEIVE)

    def count_overhearing(
        self, nodes: Iterable[int], from_ns: int, to_ns: int, airtime_ns: int
    ) -> None:
        """Count what nodes that are on and awake receive though it is not for them.

        Parameters
        ----------
        nodes : iterable of int
        from_ns, to_ns, airtime_ns : int
            See `on_air`.
        """
        deaf = self._availability.off | self._wired
        for node in [node for node in nodes if node not in deaf]:
            heard_ns, rhythm = airtime_ns, self._rhythms.get(node)
            if rhythm is not None and to_ns > from_ns:
                asleep = rhythm.asleep_ns(from_ns, to_ns) / (to_ns - from_ns)
                heard_ns = round(airtime_ns * (1.0 - asleep))
            self._count(node, self._receiving_w, from_ns, to_ns, heard_ns, Does.OVERHEAR)

    def count_sent(self, src: int, to: Sequence[int], receivers: Sequence[int], bits: int) -> None:
        """Count bits that a node has sent.

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
        farthest_m = max(self._distance_m(src, node, self._env.now) for node in to)
        self._draw_energy(src, self._radio_loads, self._radio.sent_j(bits, farthest_m))
        for node in receivers:
            self.count_received_bits(node, bits)

    def count_received_bits(self, node: int, bits: int) -> None:
        """Count bits that a node has received, with headers and repetitions."""
        self._draw_energy(node, self._radio_loads, self._radio.received_j(bits))

    def count_computation(self, node: int, steps: float, from_ns: int, to_ns: int) -> None:
        """Count the training of a node between two instants.

        Parameters
        ----------
        node : int
        steps : float
            Local steps.
        from_ns, to_ns : int
        """
        if self.step_j == 0.0:
            return
        joules = steps * self.step_j
        if to_ns > from_ns:
            load = Load(from_ns, to_ns, joules * NS_PER_S / (to_ns - from_ns))
            self._compute_loads[node].add(load, joules, self._env.now)
            if node in self._batteries:
                self._batteries[node].draw(load)
            self._plan(node)
        else:
            self._draw_energy(node, self._compute_loads, joules)

    def drop_computation(self, node: int, place: int) -> None:
        """Drop a computation of a node: from now on it draws nothing more.

        Parameters
        ----------
        node : int
        place : int
            Its place among the works that draw energy and are not done.
        """
        now, battery = self._env.now, self._batteries.get(node)
        rest = self._compute_loads[node].drop(place, now)
        if battery is not None and rest is not None:
            battery.left_j(now)
            battery.draw(rest)
            self._plan(node)

    def _count(
        self,
        node: int,
        watt: float,
        from_ns: int,
        to_ns: int,
        airtime_ns: float,
        does: Does,
    ) -> None:
        """Count energy of a radio, as `on_air` has it."""
        # A radio that sends, or receives what is for it, may have to be awake.
        rhythm = None if does is Does.OVERHEAR else self._rhythms.get(node)
        if not airtime_ns or (not watt and rhythm is None and self._states is None):
            return
        times = 1.0
        if to_ns < from_ns:
            from_ns, to_ns, times = to_ns, from_ns, -1.0
        share = airtime_ns / (to_ns - from_ns)
        if self._states is not None:
            self._count_states(node, watt, from_ns, to_ns, times * share, times, does)
            self._plan(node)
            return
        joules, woken_w = watt * airtime_ns / NS_PER_S, 0.0
        if rhythm is not None:
            woken_w = self._saved_w * share
            joules += woken_w * rhythm.asleep_ns(from_ns, to_ns) / NS_PER_S
        self._add(node, new_load((from_ns, to_ns, watt * share, woken_w)), joules)
        if self._batteries:
            self._plan(node)

    def _count_states(
        self,
        node: int,
        watt: float,
        from_ns: int,
        to_ns: int,
        share: float,
        times: float,
        does: Does,
    ) -> None:
        """Count what a further share of the time in a state changes."""
        assert self._states is not None
        if does is Does.SEND:
            activity = Activity(share, watt * share)
        else:
            activity = Activity(**{does.value: share})
        rhythm = self._rhythms.get(node)
        changes = self._states[node].add(activity, from_ns, to_ns, self.oldest_ns, times)
        for begins_ns, ends_ns, more_w, awake in changes:
            woken_w = 0.0 if rhythm is None else self._saved_w * awake
            joules = more_w * (ends_ns - begins_ns)
            if woken_w and rhythm is not None:
                joules += woken_w * rhythm.asleep_ns(begins_ns, ends_ns)
            self._add(node, new_load((begins_ns, ends_ns, more_w, woken_w)), joules / NS_PER_S)

    def _add(self, node: int, load: Load, joules: float) -> None:
        """Count a load of a radio, of which a battery gives what it has."""
        now, to_ns = self._env.now, load.to_ns
        battery = self._batteries.get(node)
        if battery is not None and to_ns > now:
            battery.draw(load)
        elif battery is not None:
            joules = self._given(battery, joules)
        loads = self._radio_loads[node]
        if to_ns > now:
            loads.add(load, joules, now)
        else:
            loads.counted_j += joules

    def _draw_energy(self, node: int, loads: list[Loads], joules: float) -> None:
        """Count energy that is drawn at once."""
        battery = self._batteries.get(node)
        if battery is not None:
            joules = self._given(battery, joules)
            self._plan(node)
        loads[node].counted_j += joules

    def _given(self, battery: Battery, joules: float) -> float:
        """Return what a battery gives of an amount of energy for what has been done already."""
        given_j = battery.give(joules, self._env.now)
        self.unpaid_j += joules - given_j
        return given_j

    # -- batteries -------------------------------------------------------------------------------

    def _plan(self, node: int) -> None:
        """Plan to switch a node when its battery will be empty, as far as is known now."""
        battery = self._batteries.get(node)
        if battery is None:
            return
        self._plans[node] += 1
        empty_ns = battery.empty_ns(self._env.now)
        if empty_ns is None or node in self._availability.dead:
            self._empty_ns.pop(node, None)
        else:
            self._empty_ns[node] = empty_ns
            self._await(node)

    def _await(self, node: int) -> None:
        """Come back to a node when its battery will be empty, or half-way, where that is far off.

        So each of many loads before that time needs no event of its own.
        """
        now, empty_ns = self._env.now, self._empty_ns[node]
        if empty_ns - now <= NEAR_NS:
            self.planned += 1
            self._env.call_after(empty_ns - now, self._die, node, self._plans[node])
        elif self._looks.get(node, empty_ns + 1) > empty_ns:
            self.planned += 1
            at_ns = self._looks[node] = now + (empty_ns - now) // 2
            self._env.call_after(at_ns - now, self._look, node, at_ns)

    def _look(self, node: int, at_ns: int) -> None:
        self.planned -= 1
        if self._looks.get(node) == at_ns:
            del self._looks[node]
            if node in self._empty_ns:
                self._await(node)

    def _die(self, node: int, plan: int) -> None:
        self.planned -= 1
        battery = self._batteries[node]
        if isinstance(battery, HarvestingBattery):
            if plan == self._plans[node]:
                self._switch_by_battery(node, battery)
        elif plan == self._plans[node] and node not in self._availability.dead:
            was_off = node in self._availability.off
            self._availability.die(node)
            if was_off:  # nothing is switched then
                self._stop(node)

    def _switch_by_battery(self, node: int, battery: HarvestingBattery) -> None:
        """Switch a node whose battery may be empty, or full enough again."""
        if not battery.must_switch(self._env.now):
            self._plan(node)
            return
        battery.is_out = not battery.is_out
        was_off = node in self._availability.off
        if battery.is_out:
            self._outages[node] += 1
            self._availability.run_out(node)
        else:
            self._resume(node)
            self._availability.recover(node)
        if was_off == (node in self._availability.off):  # nothing was switched
            if battery.is_out:
                self._stop(node)
            self._plan(node)

    def _resume(self, node: int) -> None:
        """Go on with the loads of a processor that stood still."""
        now = self._env.now
        since_ns, loads = self._paused.pop(node, (now, []))
        for load in loads:
            from_ns, to_ns = (t + now - since_ns for t in load[:2])
            later = load._replace(from_ns=from_ns, to_ns=to_ns)
            self._compute_loads[node].add(later, later.joules(from_ns, to_ns, None), now)
            self._batteries[node].draw(later)

    def _battery(self, node: int, joules: float) -> Battery:
        on = node not in self._availability.off
        standing = self._standing_w[node] * on, self._saved_w * on, self._rhythms.get(node)
        if self._supply is not None:
            return HarvestingBattery(node, joules, self._supply, *standing)
        return Battery(joules, *standing)

    def on_switch(self, node: int, on: bool) -> None:
        """Switch a node on or off: it then draws standing power, or none.

        Off, its radio draws nothing more, and its processor nothing if its battery is empty.
        """
        now, rhythm = self._env.now, self._rhythms.get(node)
        if on:
            self._on_since_ns[node] = now
        elif rhythm is not None:
            self._slept_ns[node] += rhythm.asleep_ns(self._on_since_ns[node], now)
        if not on:
            self._stop(node)
        battery = self._batteries.get(node)
        if battery is not None:
            battery.left_j(now)
            battery.set_standing_power(self._standing_w[node] * on, self._saved_w * on)
            self._plan(node)

    def _stop(self, node: int) -> None:
        """End the loads of a radio that is off now, and of a processor that has no energy."""
        now, battery = self._env.now, self._batteries.get(node)
        rest = self._radio_loads[node].stop(now)
        is_out = isinstance(battery, HarvestingBattery) and battery.is_out
        is_empty = is_out or node in self._availability.dead
        if is_empty:
            back = self._compute_loads[node].stop(now)
            rest += back
            if is_out:
                self._paused[node] = now, [load._replace(watt=-load.watt) for load in back]
        if battery is not None:
            if is_empty:
                self._give_back(node, battery)
            battery.left_j(now)
            for load in rest:
                battery.draw(load)

    def _give_back(self, node: int, battery: Battery) -> None:
        """Give back what loads drew in the last nanosecond beyond what the battery could give."""
        beyond_j = -battery.usable_j(self._env.now)
        if beyond_j > 0:
            for loads in (self._compute_loads[node], self._radio_loads[node]):
                if loads.counted_j >= beyond_j:
                    loads.counted_j -= beyond_j
                    battery.take(-beyond_j)
                    return

    # -- totals ------------------------------------------------------------------------

    def spent_j(self, node: int, now_ns: int) -> float:
        """Joules that a node has drawn by an instant, of what is under way its part until then."""
        spent = self._radio_loads[node].drawn_j(now_ns) + self._compute_loads[node].drawn_j(now_ns)
        spent += self._idle_j(node, now_ns)
        if node not in self._held_j:
            return spent
        charge = self.charge(node, now_ns)
        return min(spent, self._held_j[node] + charge.harvested_j - charge.spilled_j)

    def radio_j(self, node: int, now_ns: int) -> float:
        """Joules that a node's radio has drawn by an instant, waiting and asleep, too."""
        return self._radio_loads[node].drawn_j(now_ns) + self._idle_j(node, now_ns)

    def most_radio_w(self, node: int) -> float | None:
        """Largest power [W] of the states of a node's radio; None: bits cost energy, too."""
        if self.by_bits:
            return None
        more_w: float = max(0.0, self._sending_w[node], self._receiving_w)
        return self._standing_w[node] + more_w

    def held_j(self, node: int) -> float | None:
        """Joules that a node's battery held at first; None: without end."""
        return self._held_j.get(node)

    def left_j(self, node: int, now_ns: int) -> float:
        """Joules left in a node's battery, at no earlier instant than when this was asked last."""
        battery = self._batteries[node]
        if isinstance(battery, HarvestingBattery):
            return max(0.0, battery.charge(now_ns).stored_j)
        return max(0.0, battery.left_j(now_ns))

    def charge(self, node: int, now_ns: int) -> Charge:
        """Energy that a node's battery holds, has got and has spilled; all 0 without harvest."""
        battery = self._batteries.get(node)
        return battery.charge(now_ns) if isinstance(battery, HarvestingBattery) else Charge(0.0)

    def _idle_j(self, node: int, now_ns: int) -> float:
        joules = self._standing_w[node] * self._availability.on_s(node, now_ns)
        rhythm = self._rhythms.get(node)
        if rhythm is not None:
            joules -= self._saved_w * to_s(self._asleep_ns(node, rhythm, now_ns))
        return joules

    def _asleep_ns(self, node: int, rhythm: Rhythm, now_ns: int) -> int:
        """Return the time [ns] that a radio has slept by its schedule while its node was on."""
        slept_ns = self._slept_ns[node]
        if node not in self._availability.off:
            slept_ns += rhythm.asleep_ns(self._on_since_ns[node], now_ns)
        return slept_ns

    def total_j(self, now_ns: int) -> float:
        """Joules that all nodes have drawn."""
        return sum(self.spent_j(node, now_ns) for node in range(len(self._radio_loads)))

    def summary(self, end_ns: int) -> dict[str, Any]:
        """Summarise joules by cause and by node, and when which node died.

        Returns
        -------
        dict
            `radio_j` of sending and receiving beyond idling, `idle_j` (sleep included),
            `compute_j`, `per_node_j`; with batteries `died` [{node t_s}], `left_j` {node: joules};
            where they are filled `harvested_j`, `spilled_j` {node: joules}, `outages` {node: how
            often it went off for want of energy}.
        """
        nodes = range(len(self._radio_loads))
        found: dict[str, Any] = {
            "radio_j": sum(loads.drawn_j(end_ns) for loads in self._radio_loads),
            "idle_j": sum(self._idle_j(node, end_ns) for node in nodes),
            "compute_j": sum(loads.drawn_j(end_ns) for loads in self._compute_loads),
            "per_node_j": [self.spent_j(node, end_ns) for node in nodes],
        }
        if self._batteries:
            died = sorted(self._availability.dead.items(), key=lambda one: (one[1], one[0]))
            found["died"] = [{"node": node, "t_s": to_s(t_ns)} for node, t_ns in died]
            found["left_j"] = {node: self.left_j(node, end_ns) for node in self._batteries}
        if self._batteries and self._supply is not None:
            charges = {node: self.charge(node, end_ns) for node in self._batteries}
            found["harvested_j"] = {node: one.harvested_j for node, one in charges.items()}
            found["spilled_j"] = {node: one.spilled_j for node, one in charges.items()}
            found["outages"] = {node: self._outages[node] for node in self._batteries}
        return found
