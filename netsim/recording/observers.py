"""Observers of a run: told of messages, wake-ups and evaluations at the moment they happen.

They stand between whoever records an event and the recorder, and only where there are any: a run
without them has the recorder itself. They are told what was recorded and can change none of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from netsim.recording.recorder import Recorder
from netsim.recording.schema import MessageRow
from netsim.units import to_s


class MessageEvent(NamedTuple):
    """A message to one receiver that has ended: a row of `messages/`.

    Attributes
    ----------
    algorithm : str
        Algorithm of the scenario that is being played.
    t_sent_s, t_done_s : float
        Times at which it was sent, and delivered or given up, in virtual time [s].
    src, dst : int
        Sender and receiver.
    kind : str
        The message class's name.
    bits : int
        Its payload [bit].
    attempts, packets_lost : int
        Packet transmissions in all; packets that never arrived.
    snr_db : float or None
        Mean over attempts [dB]; None where links have no SNR.
    outcome : str
        `delivered`, `partial`, or how it was lost; see `netsim.recording.schema.OUTCOMES`.
    round : int
        The sender's wake-up number.
    age_s : float or None
        From sending to arrival [s]; None if it did not arrive.
    bits_transmitted : int
        With headers and retransmissions [bit]; of a broadcast in one of its rows only.
    """

    algorithm: str
    t_sent_s: float
    t_done_s: float
    src: int
    dst: int
    kind: str
    bits: int
    attempts: int
    packets_lost: int
    snr_db: float | None
    outcome: str
    round: int
    age_s: float | None
    bits_transmitted: int = 0


class WakeupEvent(NamedTuple):
    """Wake-up of a node under the schedule, or a wake-up skipped because it was busy or off.

    Attributes
    ----------
    algorithm : str
    t_s : float
        Virtual time [s].
    node : int
    round : int
        Number of the wake-up.
    outcome : str
        `woke` or `skipped`.
    """

    algorithm: str
    t_s: float
    node: int
    round: int
    outcome: str


class EvaluationEvent(NamedTuple):
    """The models that nodes have published were measured.

    Attributes
    ----------
    algorithm : str
    t_s : float
        Virtual time [s].
    values : mapping of str to mapping
        By metric, the value of each node by its id; of several stages the last.
    by_stage : mapping of str to mapping
        By stage, the same of each; empty unless `stages` names several.
    """

    algorithm: str
    t_s: float
    values: Mapping[str, Mapping[int, float]]
    by_stage: Mapping[str, Mapping[str, Mapping[int, float]]] = MappingProxyType({})

    @property
    def means(self) -> dict[str, float]:
        """By metric, the mean over the nodes that have a model by now, which may not be all."""
        return {metric: sum(of.values()) / len(of) for metric, of in self.values.items()}


class TrafficEvent(NamedTuple):
    """Spending of the whole network by an evaluation; reported before the metrics.

    Attributes
    ----------
    algorithm : str
    t_s : float
        Virtual time [s].
    bits_transmitted : int
        Of all nodes, headers and retransmissions included [bit].
    airtime_s : float
    messages_ended : int
        One for each receiver.
    local_steps : int
        Of all nodes.
    """

    algorithm: str
    t_s: float
    bits_transmitted: int
    airtime_s: float
    messages_ended: int
    local_steps: int


Values = Mapping[str, Mapping[int, float]]
ValuesTold = Callable[[int, Values, Mapping[str, Values]], None]
"""Told of an evaluation: virtual time [ns], values by metric and node."""


@dataclass(frozen=True, kw_only=True)
class Observers:
    """Observers of a run; an exception that one raises ends the run.

    Attributes
    ----------
    on_message, on_wakeup, on_evaluation, on_traffic : callable or None
    write_every_s : float or None
        How often the recorder writes what waits [s of wall time]; None: as often as it does.
    """

    on_message: Callable[[MessageEvent], object] | None = None
    on_wakeup: Callable[[WakeupEvent], object] | None = None
    on_evaluation: Callable[[EvaluationEvent], object] | None = None
    on_traffic: Callable[[TrafficEvent], object] | None = None
    write_every_s: float | None = None

    def called_by(self, caller: Callable[[Callable[[Any], object]], Any]) -> "Observers":
        """These, each called by what `caller` makes of it."""
        calls = {name: getattr(self, name) for name in vars(self) if name.startswith("on_")}
        return replace(self, **{n: caller(call) for n, call in calls.items() if call is not None})

    def watch(self, recorder: Recorder, values_told: list[ValuesTold], algorithm: str) -> None:
        """Tell of all that a recorder is told from now on.

        Parameters
        ----------
        recorder : Recorder
            Of one run.
        values_told : list of callable
            Whoever measures calls those in it.
        algorithm : str
            The name of what is played.
        """
        if self.on_message is not None:
            _tell_of_messages(recorder, self.on_message, algorithm)
        if self.on_wakeup is not None:
            woke = self.on_wakeup
            _tell_after(
                recorder,
                "wake",
                lambda t_ns, *fields: woke(WakeupEvent(algorithm, to_s(t_ns), *fields)),
            )
        if self.write_every_s is not None:
            recorder.write_every_s = self.write_every_s
        if self.on_traffic is not None:
            _tell_of_traffic(recorder, self.on_traffic, algorithm)
        if self.on_evaluation is not None:
            tell = self.on_evaluation

            def evaluated(time_ns: int, values: Values, by_stage: Mapping[str, Values]) -> None:
                if values:  # some node has published a model
                    stages = {stage: _copied(found) for stage, found in by_stage.items()}
                    tell(EvaluationEvent(algorithm, to_s(time_ns), _copied(values), stages))

            values_told.append(evaluated)


def _copied(values: Values) -> dict[str, dict[int, float]]:
    return {metric: dict(of_nodes) for metric, of_nodes in values.items()}


def _tell_of_messages(
    recorder: Recorder, tell: Callable[[MessageEvent], object], algorithm: str
) -> None:
    record_one, record_some = recorder.message, recorder.messages

    def told(row: MessageRow, dst: int) -> None:
        seen = row._replace(dst=dst)._asdict()
        sent_s, done_s = to_s(seen.pop("t_sent_ns")), to_s(seen.pop("t_done_ns"))
        known = {name: seen[name] for name in MessageEvent._fields if name in seen}
        tell(MessageEvent(algorithm, sent_s, done_s, **known))

    def message(*fields: Any, **named: Any) -> int:
        number = record_one(*fields, **named)
        row = MessageRow(*fields, **named)
        told(row, row.dst)
        return number

    def messages(row: MessageRow, receivers: Sequence[int]) -> int:
        number = record_some(row, receivers)
        for dst in receivers:
            told(row, dst)
        return number

    recorder.message, recorder.messages = message, messages


def _tell_of_traffic(
    recorder: Recorder, tell: Callable[[TrafficEvent], object], algorithm: str
) -> None:
    def told(t_ns: int) -> None:
        spent = recorder.bits_transmitted, recorder.airtime_s(), recorder.messages_ended
        tell(TrafficEvent(algorithm, to_s(t_ns), *spent, recorder.local_steps))

    _tell_after(recorder, "spent", told)


def _tell_after(recorder: Recorder, method: str, told: Callable[..., object]) -> None:
    """Call `told` with what a method of a recorder is called with, once it has recorded that."""
    record = getattr(recorder, method)

    def recorded(*fields: Any) -> None:
        record(*fields)
        told(*fields)

    setattr(recorder, method, recorded)
