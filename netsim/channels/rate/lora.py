"""LoRa: chirps of 2^SF steps, by Semtech's formula of the time on air.

Semtech AN1200.13, "LoRa Modem Designer's Guide", 2013, section 4, and the SX1276's data sheet,
4.1.1.7. A symbol takes 2^SF / B; a packet of P bytes has the preamble, 4.25 symbols of
synchronisation and

8 + max(0, ceil((8 P - 4 SF + 28 + 16 CRC - 20 IH) / (4 (SF - 2 DE))) (CR + 4)) symbols,

IH = 1 without a header, DE = 1 with low data rate optimisation, which symbols over 16 ms need.
"""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from netsim.channels.rate import Rate
from netsim.registry import Count

OPTIMISED_OVER_S = 0.016
"""Length of a symbol above which the low data rate is optimised."""


class Lora(Rate):
    """One spreading factor for all; `bandwidth_hz` is the chirps' bandwidth.

    A sensible radio has a threshold that suits the spreading factor: `[radio.preset]` of kind
    `lora` sets both.

    Attributes
    ----------
    spreading_factor : int
        SF: a symbol has as many bits, and takes 2^SF over the bandwidth.
    coding_rate : int
        CR: 1 to 4 stand for 4/5 to 4/8.
    preamble_symbols : int
        Number of symbols before the 4.25 of synchronisation.
    header : bool
        Whether packets have an explicit header.
    crc : bool
        Whether packets have a checksum.
    """

    longest_bytes: ClassVar[int | None] = 255
    kind: Literal["lora"] = "lora"
    spreading_factor: Annotated[int, Field(ge=6, le=12)] = 7
    coding_rate: Annotated[int, Field(ge=1, le=4)] = 1
    preamble_symbols: Count = 8
    header: bool = True
    crc: bool = True

    def bits_per_s(self, snr: float, bandwidth_hz: float) -> float:
        """Bits of whole blocks of symbols: 4 (SF - 2 DE) over CR + 4 symbols."""
        symbols_s = (self.coding_rate + 4) * self._symbol_s(bandwidth_hz)
        return self._block_bits(bandwidth_hz) / symbols_s

    def overhead_s(self, packet_bits: int, bandwidth_hz: float) -> float:
        """Preamble, and what headers, checksums and whole blocks add to the bits."""
        bits_s = packet_bits / self.bits_per_s(1.0, bandwidth_hz)
        return self.airtime_s(packet_bits, bandwidth_hz) - bits_s

    def airtime_s(self, packet_bits: int, bandwidth_hz: float) -> float:
        """Time on the air of a packet [s]."""
        bits = 8 * math.ceil(packet_bits / 8) - 4 * self.spreading_factor + 28
        bits += 16 * self.crc - 20 * (not self.header)
        blocks = max(0, math.ceil(bits / self._block_bits(bandwidth_hz)))
        symbols = self.preamble_symbols + 4.25 + 8 + blocks * (self.coding_rate + 4)
        return symbols * self._symbol_s(bandwidth_hz)

    def _symbol_s(self, bandwidth_hz: float) -> float:
        return float(2**self.spreading_factor / bandwidth_hz)

    def _block_bits(self, bandwidth_hz: float) -> int:
        optimised = self._symbol_s(bandwidth_hz) > OPTIMISED_OVER_S
        return 4 * (self.spreading_factor - 2 * optimised)
