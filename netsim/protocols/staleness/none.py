"""No weights by staleness."""

from collections.abc import Mapping
from typing import Literal

from netsim.protocols.staleness import Staleness


class NoStaleness(Staleness):
    """A message counts what its method gives it, whatever its age."""

    kind: Literal["none"] = "none"

    def unread_keys(self) -> Mapping[str, str]:
        return {"unit": "every age counts alike"}

    def factor(self, age: float) -> float:
        """Return 1."""
        return 1.0
