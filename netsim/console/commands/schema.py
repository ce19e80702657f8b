"""The command `netsim schema`."""

import json
import sys

from netsim.console.options import Components

ALSO_CALLED = ("json-schema", "editor")


def command(components: Components = None) -> None:
    """Print the JSON Schema of scenario files, for editors."""
    from netsim.scenario import json_schema
    from netsim.scenario.kinds import kinds_of

    kinds = kinds_of(components or ())
    kinds.read_installed()
    sys.stdout.write(json.dumps(json_schema(kinds), indent=2) + "\n")
