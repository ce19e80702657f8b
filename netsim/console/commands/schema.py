"""The command `netsim schema`."""

import json
import sys

from netsim.console import terminal
from netsim.console.options import Components, Debug

ALSO_CALLED = ("json-schema", "editor")


def command(components: Components = None, debug: Debug = False) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    with terminal.reported(debug):
        from netsim.scenario import json_schema
        from netsim.scenario.kinds import kinds_of

        kinds = kinds_of(components or ())
        kinds.read_installed()
        sys.stdout.write(json.dumps(json_schema(kinds), indent=2) + "\n")
