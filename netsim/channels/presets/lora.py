"""LoRa at 868 MHz: class A devices under the duty cycle of Europe's regulation.

Semtech SX1276 data sheet: SNR needed -7.5 dB at SF7 to -20 dB at SF12, noise figure 6 dB;
sensitivities of Georgiou and Raza, "Low Power Wide Area Network Analysis: Can LoRa Scale?", IEEE
Wireless Commun. Lett. 2017. LoRaWAN regional parameters, EU863-870: channels of 125 kHz, 14 dBm,
payloads of at most 222, 222, 115, 51, 51, 51 bytes with 13 bytes of header; ETSI EN 300 220-2: a
duty cycle of 1 %.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from netsim.channels.presets import Preset

SPREADING = {
    7: (-7.5, -123.0, 222),
    8: (-10.0, -126.0, 222),
    9: (-12.5, -129.0, 115),
    10: (-15.0, -132.0, 51),
    11: (-17.5, -134.5, 51),
    12: (-20.0, -137.0, 51),
}
"""By spreading factor: least SNR [dB], sensitivity [dBm], payload [bytes]."""


class LoraPreset(Preset):
    """One channel and one spreading factor for all: packets sent at random that overlap are lost.

    Attributes
    ----------
    spreading_factor : int
        SF: each step more doubles the time of a symbol and reaches 2.5 dB farther.
    """

    kind: Literal["lora"] = "lora"
    spreading_factor: Annotated[int, Field(ge=7, le=12)] = 7

    def radio(self) -> dict[str, Any]:
        snr_db, sensitivity_dbm, payload_bytes = SPREADING[self.spreading_factor]
        return {
            "carrier_hz": 868.1e6,
            "bandwidth_hz": 125e3,
            "tx_power_dbm": 14.0,
            "noise_figure_db": 6.0,
            "threshold_db": snr_db,
            "sensitivity_dbm": sensitivity_dbm,
            "packet_payload_bytes": payload_bytes,
            "packet_header_bytes": 13,
            "rate": {"kind": "lora", "spreading_factor": self.spreading_factor},
            "packet_error": {"kind": "outage"},
            "arq": {"kind": "none"},
            "mac": {"kind": "aloha", "attempt_rate": 1.0, "max_duty_cycle": 0.01},
        }
