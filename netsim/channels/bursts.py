"""Losses that come in bursts: the Gilbert-Elliott channel.

Gilbert, BSTJ 39 (1960); Elliott, BSTJ 42 (1963). A two-state Markov chain makes a step at every
attempt; each state loses attempts with a probability of its own. The chain is not played attempt
by attempt: how long it stays in a state is geometric, and within a stay attempts are alike, so the
samplers of `netsim.channels.arq` do the rest exactly.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
from pydantic import model_validator

from netsim.channels.arq import Arq, Segment, Transfer
from netsim.registry import Fraction, Table

S = TypeVar("S", bound=Any)
"""A dataclass like `netsim.links.radio.channel.Stretch`."""


class Bursts(Table):
    """The chain. A message finds it in its stationary state.

    With nothing lost in the good state and all in the bad one, a share p_good_to_bad /
    (p_good_to_bad + p_bad_to_good) is lost, in bursts of 1 / p_bad_to_good on average.

    Parameters
    ----------
    p_good_to_bad, p_bad_to_good : float
        Probability of changing state from one attempt to the next.
    loss_good, loss_bad : float
        Probability that an attempt is lost.
    """

    p_good_to_bad: Fraction = 0.002
    p_bad_to_good: Fraction = 0.2
    loss_good: Fraction = 0.0
    loss_bad: Fraction = 1.0

    @model_validator(mode="after")
    def _leaves_some_state(self) -> Self:
        if self.p_good_to_bad + self.p_bad_to_good == 0:
            raise ValueError("p_good_to_bad and p_bad_to_good are both 0: it would never change")
        return self

    @property
    def share_bad(self) -> float:
        """Stationary probability of the bad state."""
        return self.p_good_to_bad / (self.p_good_to_bad + self.p_bad_to_good)

    @property
    def mean_loss(self) -> float:
        """Probability that an attempt is lost."""
        return self.share_bad * self.loss_bad + (1.0 - self.share_bad) * self.loss_good

    def stays(self, rng: np.random.Generator) -> Iterator[tuple[int | None, float]]:
        """(attempts, loss) of one stay after the other; None: for ever."""
        bad = bool(rng.random() < self.share_bad)
        while True:
            leaves = self.p_bad_to_good if bad else self.p_good_to_bad
            loss = self.loss_bad if bad else self.loss_good
            yield (int(rng.geometric(leaves)) if leaves > 0.0 else None), loss
            bad = not bad

    def within(
        self, stretches: Iterable[S], rng: np.random.Generator, made: int = 0
    ) -> Iterator[S]:
        """The stretches of a radio channel, cut where the chain changes state.

        An attempt is lost to the channel or to the bursts, independently. Stretches in which
        nothing can be sent stay as they are. A message that has `made` attempts already goes on
        in the same chain, which the same `rng` makes again.
        """
        stays = self.stays(rng)
        left, loss = next(stays)
        while left is not None and left <= made:
            made -= left
            left, loss = next(stays)
        left = None if left is None else left - made
        for stretch in stretches:
            room, rest_ns = stretch.attempts, stretch.length_ns
            if room == 0 or stretch.attempt_ns <= 0.0:
                yield stretch
                continue
            while room is None or room > 0:
                per = 1.0 - (1.0 - stretch.per) * (1.0 - loss)
                ruined = 1.0 - (1.0 - stretch.ruined) * (1.0 - loss)
                if left is None or (room is not None and room <= left):
                    yield replace(stretch, per=per, ruined=ruined, attempts=room, length_ns=rest_ns)
                    if room is None:
                        return
                    left = None if left is None else left - room
                    room = 0
                else:
                    length_ns = round(left * stretch.attempt_ns)
                    yield replace(
                        stretch, per=per, ruined=ruined, attempts=left, length_ns=length_ns
                    )
                    room = None if room is None else room - left
                    rest_ns = None if rest_ns is None else rest_ns - length_ns
                    left = 0
                if left == 0:
                    left, loss = next(stays)

    def transfer(
        self,
        arq: Arq,
        rng: np.random.Generator,
        packets: int,
        segments: Iterable[Segment],
        want_mask: bool = False,
    ) -> Transfer:
        """`Arq.transfer` where attempts are lost to the bursts, too.

        Parameters are as there, and so is what it returns: `attempts` has one entry a segment.
        The message is lost to either independently.
        """
        origin: list[int] = []

        def cut() -> Iterator[Segment]:
            stays = self.stays(rng)
            left, loss = next(stays)
            for number, (room, per) in enumerate(segments):
                while room is None or room > 0:
                    fits = room if left is None else left if room is None else min(left, room)
                    origin.append(number)
                    yield Segment(fits, 1.0 - (1.0 - per) * (1.0 - loss))
                    if fits is None:
                        break
                    room = None if room is None else room - fits
                    left = None if left is None else left - fits
                    if left == 0:
                        left, loss = next(stays)

        found = arq.transfer(rng, packets, cut(), want_mask)
        consumed = origin[: len(found.attempts)]
        attempts = [0] * (consumed[-1] + 1)
        for number, n in zip(consumed, found.attempts, strict=True):
            attempts[number] += n
        return found._replace(attempts=attempts)
