"""Losses that come in bursts: the Gilbert-Elliott channel.

Gilbert, BSTJ 39 (1960); Elliott, BSTJ 42 (1963). A two-state Markov chain makes a step at every
attempt; each state loses attempts with a probability of its own. The chain is not played attempt
by attempt: the number of attempts for which it stays in a state is geometric, and within a stay
attempts are alike, so the samplers of `netsim.channels.arq` do the rest exactly.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import repeat
from typing import Self

import numpy as np
from pydantic import model_validator

from netsim.channels.arq import Arq, Transfer
from netsim.channels.block import ChannelBlock
from netsim.registry import Fraction, Table


class Bursts(Table):
    """The Gilbert-Elliott chain; at the beginning of a message it is in its stationary state.

    With nothing lost in the good state and all in the bad one, a share p_good_to_bad /
    (p_good_to_bad + p_bad_to_good) is lost, in bursts of 1 / p_bad_to_good on average.

    Parameters
    ----------
    p_good_to_bad : float
        Probability of changing from the good to the bad state from one attempt to the next.
    p_bad_to_good : float
        Probability of changing from the bad to the good state from one attempt to the next.
    loss_good : float
        Probability that an attempt is lost in the good state (Gilbert: 0).
    loss_bad : float
        Probability that an attempt is lost in the bad state.
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

    def state_stays(self, rng: np.random.Generator) -> Iterator[tuple[int | None, float]]:
        """(attempts, probability of loss) of one stay in a state after another; None: for ever."""
        bad = bool(rng.random() < self.share_bad)
        while True:
            leaves = self.p_bad_to_good if bad else self.p_good_to_bad
            loss = self.loss_bad if bad else self.loss_good
            yield (int(rng.geometric(leaves)) if leaves > 0.0 else None), loss
            bad = not bad

    def losses(self, rng: np.random.Generator) -> Iterator[float]:
        """Probability that one attempt after another is lost, of the chain that a stream makes."""
        for attempts, loss in self.state_stays(rng):
            yield from repeat(loss) if attempts is None else repeat(loss, attempts)

    def split_blocks(
        self, blocks: Iterable[ChannelBlock], rng: np.random.Generator, made: int = 0
    ) -> Iterator[ChannelBlock]:
        """Cut the blocks of a radio channel where the chain changes state.

        An attempt is lost to the channel or to the bursts, independently. Blocks in which nothing
        can be sent, or in no time, stay as they are.

        Parameters
        ----------
        blocks : iterable of ChannelBlock
        rng : numpy.random.Generator
            Makes the chain: the same stream makes the same chain.
        made : int
            Attempts that the message has made already; the chain goes on behind them.

        Returns
        -------
        iterator of ChannelBlock
        """
        stays = self.state_stays(rng)
        left, loss = next(stays)
        while left is not None and left <= made:
            made -= left
            left, loss = next(stays)
        left = None if left is None else left - made
        for block in blocks:
            room, rest_ns = block.attempts, block.length_ns
            if room == 0 or block.attempt_ns <= 0.0:
                yield block
                continue
            while room is None or room > 0:
                per = 1.0 - (1.0 - block.per) * (1.0 - loss)
                erasure = 1.0 - (1.0 - block.erasure) * (1.0 - loss)
                each = block.by_attempt
                if each is not None:
                    each = tuple([1.0 - (1.0 - one) * (1.0 - loss) for one in each])
                here = replace(block, per=per, erasure=erasure, by_attempt=each)
                if left is None or (room is not None and room <= left):
                    yield replace(here, attempts=room, length_ns=rest_ns)
                    if room is None:
                        return
                    left = None if left is None else left - room
                    room = 0
                else:
                    length_ns = round(left * block.attempt_ns)
                    yield replace(here, attempts=left, length_ns=length_ns)
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
        blocks: Iterable[ChannelBlock],
        want_mask: bool = False,
    ) -> Transfer:
        """Send one message, as `Arq.transfer` does, and lose attempts to the bursts, too.

        An attempt is lost to the block's packet error rate or to the bursts, independently.

        Parameters
        ----------
        arq : Arq
        rng : numpy.random.Generator
            The message's own stream, for the chain and for the attempts.
        packets : int
            At least 1.
        blocks : iterable of ChannelBlock
            See `Arq.transfer`.
        want_mask : bool
            Whether to keep which packets arrive.

        Returns
        -------
        Transfer
            `attempts` has one entry for each of `blocks`.
        """
        origin: list[int] = []  # of each block that was cut: the index of the one it is part of

        def split() -> Iterator[ChannelBlock]:
            stays = self.state_stays(rng)
            left, loss = next(stays)
            for number, block in enumerate(blocks):
                room, per = block.attempts, block.per
                while room is None or room > 0:
                    fits = room if left is None else left if room is None else min(left, room)
                    origin.append(number)
                    yield ChannelBlock(fits, 1.0 - (1.0 - per) * (1.0 - loss))
                    if fits is None:
                        break
                    room = None if room is None else room - fits
                    left = None if left is None else left - fits
                    if left == 0:
                        left, loss = next(stays)

        found = arq.transfer(rng, packets, split(), want_mask)
        consumed = origin[: len(found.attempts)]
        attempts = [0] * (consumed[-1] + 1)
        for number, n in zip(consumed, found.attempts, strict=True):
            attempts[number] += n
        return found._replace(attempts=attempts)
