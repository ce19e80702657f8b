"""ALOHA: senders send fragments at random times, and fragments that overlap are lost.

Abramson, "The ALOHA System", AFIPS 1970; Roberts, "ALOHA packet system with and without slots and
capture", 1975. With n senders that always have something to send, fragments of equal length as
the unit of time:

slotted: a sender sends in a slot with probability q; S = n q (1-q)^(n-1), at most 1/e for large n.
pure: a sender waits Exp(1/q), then sends; S = n q/(1+q) (e^-q / (1+q))^(n-1), at most 1/(2e): the
others neither send when a fragment begins nor begin while it lasts.

Of fragments that begin at a rate of G in the time of one, however they are delayed, exp(-2 G) get
through without slots and exp(-G) with them: a fragment is lost if any other is on the air while it
is. `arq` says how often a lost fragment is repeated. There is no capture.

Regulation can demand silence: with a duty cycle d of at most `max_duty_cycle` a sender that was on
the air for T is silent for T (1/d - 1) (ETSI EN 300 220-2; LoRaWAN 1.0.3, 7.2: T_off), and then
waits as above. With c = 1/d - 1 in fragments' times, senders that always have one get

pure: S = n p^(n-1) / (c + 1 + 1/q), p = (c + 1/q - 1) / (c + 1 + 1/q) for c >= 1, with a numerator
of e^(-q (1 - c)) / q else; slotted: S = n s (1 - s)^(n-1), s = 1 / (c' + 1/q), c' = c rounded up.

Messages of few fragments are played so, one by one (`netsim.links.radio.mac.random_access`); of
longer ones the numbers of attempts are drawn by the formulas above, those under way counting as
senders that always have a fragment. With a duty cycle all are played.
"""

import math
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from netsim.channels.mac import Mac, Medium
from netsim.registry import Positive


class Aloha(Mac):
    """Random access fragment by fragment: a message occupies no radio, so no receiver is busy.

    Attributes
    ----------
    attempt_rate : float
        q: fragments that a sender begins in the time of one while it is not sending; slotted: the
        probability that it sends in a slot.
    slotted : bool
        Whether fragments begin only at the beginning of slots, the multiples of a fragment's time;
        fragments of one length share their slots.
    max_duty_cycle : float
        d: share of the time for which regulation lets a sender be on the air, in (0, 1].
    """

    kind: Literal["aloha"] = "aloha"
    exclusive: ClassVar[bool] = False
    contends: ClassVar[bool] = True
    random_access: ClassVar[bool] = True
    assumes: ClassVar[str | None] = (
        'mac.kind = "aloha": packets that overlap are all lost, however much stronger one is; '
        "receivers that capture it, as LoRa's do from some 6 dB on, lose fewer"
    )
    attempt_rate: Positive = 0.1
    slotted: bool = False
    max_duty_cycle: Annotated[float, Field(ge=1e-9, le=1)] = 1.0

    @model_validator(mode="after")
    def _is_a_probability(self) -> Self:
        if self.slotted and self.attempt_rate > 1.0:
            raise ValueError(
                f"attempt_rate = {self.attempt_rate:g} is the probability of sending in a slot: "
                "at most 1"
            )
        return self

    def medium(self, contenders: int, nodes: int) -> Medium:
        """The wait before a fragment, and the probability that another overlaps it."""
        q, others, silence = self.attempt_rate, contenders - 1, self.silence_ns(1.0)
        if self.slotted:
            cycle = 1.0 / q + math.ceil(silence - 1e-9)
            return Medium(slowdown=cycle, collision=1.0 - (1.0 - 1.0 / cycle) ** others)
        if silence == 0.0:
            through = (math.exp(-q) / (1.0 + q)) ** others
            return Medium(slowdown=1.0 + 1.0 / q, collision=1.0 - through)
        cycle = 1.0 + silence + 1.0 / q
        idle = silence + 1.0 / q - 1.0 if silence >= 1.0 else math.exp(-q * (1.0 - silence)) / q
        return Medium(slowdown=cycle, collision=1.0 - (idle / cycle) ** others)

    def silence_ns(self, packet_ns: float) -> float:
        """T (1/d - 1)."""
        return packet_ns * (1.0 / self.max_duty_cycle - 1.0)

    @property
    def plays_all(self) -> bool:
        return self.max_duty_cycle < 1.0

    def begins_ns(self, ready_ns: float, packet_ns: float, draw: float) -> float:
        """After Exp(1/q), or in a slot with probability q, in fragments' times."""
        q = self.attempt_rate
        if not self.slotted:
            return ready_ns - math.log1p(-draw) / q * packet_ns
        slot = math.ceil((ready_ns - 0.5) / packet_ns)  # half a nanosecond is forgiven
        passed = 0 if q == 1.0 else math.floor(math.log1p(-draw) / math.log1p(-q))
        return (slot + passed) * packet_ns

    def throughput(self, contenders: int) -> float:
        """S: fragments that get through in the time of one, all senders together."""
        medium = self.medium(contenders, contenders)
        return contenders * (1.0 - medium.collision) / medium.slowdown
