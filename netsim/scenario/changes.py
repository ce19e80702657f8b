"""The `[[changes]]` tables: keys that have other values from an instant of the run on."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from netsim.registry import NonNegative, Table

NOT_OF_THE_RUN = ("changes", "sweep")
"""Tables about runs, which no run can change."""


class Change(Table):
    """Keys that have other values from `at_s` on, before all else that happens at that instant.

    Changes add up.

    Attributes
    ----------
    at_s
        Virtual time from which on the keys have their other values.
    set
        Key paths, as `--set` takes them, and their values. Example: `{ "radio.tx_power_dbm" = 10.0
        }`
    """

    at_s: NonNegative
    set: Annotated[dict[str, Any], Field(min_length=1)]

    @field_validator("set")
    @classmethod
    def _of_the_run(cls, keys: dict[str, Any]) -> dict[str, Any]:
        for key in keys:
            if key.partition(".")[0] in NOT_OF_THE_RUN:
                raise ValueError(f'"{key}" is not of the run, and can\'t change while it plays')
        return keys
