"""Messages delivered, and the delivered share of those sent, by pair of nodes."""

import numpy as np

from netsim.recording.reader import RunFolder
from netsim.views import Cells, Panel, Quantity, Shown
from netsim.views.gathering import pairs

TITLE = "Who reached whom"
PLACE = None
NOTHING = "no messages in its log"


def of_run(run: RunFolder) -> Shown | None:
    """Return both as heat maps; None where the log of messages holds none."""
    rows = run.messages
    if not rows or not len(rows["src"]):
        return None
    block = pairs.block_of(run.count)
    came = rows["outcome"].isin(("delivered",))
    sent = pairs.sums(rows["src"], rows["dst"], run.count, block)
    delivered = pairs.sums(rows["src"][came], rows["dst"][came], run.count, block)
    tried = sent > 0
    with np.errstate(invalid="ignore"):
        share = np.where(tried, delivered / sent, np.nan)
    table = pairs.tidy(
        "sender", "receiver", block, delivered=np.where(tried, delivered, np.nan),
        delivered_share=share,
    )  # fmt: skip

    def cells(value: Quantity, top: float | None) -> Panel:
        sides = Quantity("sender", "Sender"), Quantity("receiver", "Receiver")
        return Panel(Cells(*sides, value, run.count, "none sent", block, top), table, value.title)

    return Shown(
        [
            cells(Quantity("delivered", "Messages delivered"), max(1.0, float(delivered.max()))),
            cells(Quantity("delivered_share", "Delivered of those sent", "%"), 100.0),
        ]
    )
