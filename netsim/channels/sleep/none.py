"""No radio ever sleeps."""

from typing import Literal

from netsim.channels.sleep import Rhythm, Sleep
from netsim.rng import Streams


class NoSleep(Sleep):
    """Radios listen whenever they do not send."""

    kind: Literal["none"] = "none"

    def rhythm(self, node: int, streams: Streams) -> Rhythm | None:
        return None
