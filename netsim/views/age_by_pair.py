"""Age of messages at their first use, by pair of nodes: mean over all that the receiver used."""

import numpy as np

from netsim.recording.reader import RunFolder
from netsim.views import Cells, Panel, Quantity, Shown
from netsim.views.gathering import pairs

TITLE = "Age at use by pair of nodes"
PLACE = 65
NOTHING = "no message was used, or [run] log_messages is false"


def of_run(run: RunFolder) -> Shown | None:
    """Return the mean age [s] of what a receiver used of each sender; None where nothing was."""
    used = np.isfinite(run.uses["age_at_use_s"]) if run.uses else np.zeros(0, dtype=bool)
    if not used.any():
        return None
    src, dst, age = (run.uses[name][used] for name in ("src", "dst", "age_at_use_s"))
    block = pairs.block_of(run.count)
    uses = pairs.sums(src, dst, run.count, block)
    uses[uses == 0] = np.nan
    mean = pairs.sums(src, dst, run.count, block, age) / uses
    table = pairs.tidy("sender", "receiver", block, age_at_use_s=mean, uses=uses)
    mark = Cells(
        Quantity("sender", "Sender"),
        Quantity("receiver", "Receiver"),
        Quantity("age_at_use_s", "Mean age at use", "s"),
        run.count,
        "no message of this pair was used",
        block,
    )
    about = "age at use: from sending to first use, mean over a pair's messages that were used"
    return Shown([Panel(mark, table)], about)
