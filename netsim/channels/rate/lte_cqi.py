"""LTE: the efficiency of channel quality indicators 1 to 15 (3GPP TS 36.213, table 7.2.3-1).

The SNRs at which they are used are customary ones, for 10 % block errors; the standard leaves
them to vendors.
"""

from typing import ClassVar, Literal

from netsim.channels.rate._adaptive import TableRate


class LteCqi(TableRate):
    """QPSK 78/1024 to 64-QAM 948/1024, over the whole bandwidth."""

    kind: Literal["lte_cqi"] = "lte_cqi"
    table: ClassVar = (
        (0.1523, -6.7),
        (0.2344, -4.7),
        (0.3770, -2.3),
        (0.6016, 0.2),
        (0.8770, 2.4),
        (1.1758, 4.3),
        (1.4766, 5.9),
        (1.9141, 8.1),
        (2.4063, 10.3),
        (2.7305, 11.7),
        (3.3223, 14.1),
        (3.9023, 16.3),
        (4.5234, 18.7),
        (5.1152, 21.0),
        (5.5547, 22.7),
    )
