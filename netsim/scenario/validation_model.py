"""The pydantic model that a scenario file is validated with.

It differs from `Scenario` in `[algorithm]`: a file states the Params in that table, beside
`kind`, `name`, `training`, `stages` and `set`, so the table is a union over the algorithms there
are.
Validation turns each entry into an `AlgorithmEntry`, whose `params` are the algorithm's own.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from types import ModuleType
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, Field, create_model

from netsim.registry import Table, union
from netsim.scenario.descriptions import NOT_DESCRIBED, Description, descriptions
from netsim.scenario.nodes import AlgorithmName
from netsim.scenario.tables import AlgorithmEntry, Scenario
from netsim.scenario.training import OwnTraining


@cache
def _about_entries() -> dict[str, Description]:
    return descriptions(AlgorithmEntry)


def _entry_keys(kind: str) -> dict[str, Any]:
    about = _about_entries()
    fields: dict[str, tuple[Any, Any]] = {
        "name": (AlgorithmName, kind),
        "training": (OwnTraining, OwnTraining()),
        "stages": (tuple[str, ...], ()),
        "set": (dict[str, Any], {}),
    }
    described = {
        key: (values, Field(default, json_schema_extra=about.get(key, NOT_DESCRIBED).as_json()))
        for key, (values, default) in fields.items()
    }
    return {"kind": (Literal[kind], Field()), **described}


@lru_cache(maxsize=256)
def _flat(kind: str, module: ModuleType) -> type[Table]:
    """The table of one algorithm; kept, as most of those of one folder are in the next one, too."""
    base: type[Table] = module.Params
    return create_model(
        f"{kind}_algorithm",
        __base__=base,
        __doc__=(module.__doc__ or "").strip().partition("\n")[0],
        **_entry_keys(kind),
    )


def validation_model(
    modules: Mapping[str, ModuleType], tables: type[Scenario] = Scenario
) -> type[Scenario]:
    """The model for files that may name these algorithms.

    Parameters
    ----------
    modules : mapping of str to module
        The algorithms that the file may name.
    tables : type of Scenario
        With the kinds of components that it may name.
    """
    params = {_flat(kind, module): module.Params for kind, module in modules.items()}

    def entry(flat: Any) -> AlgorithmEntry:
        own = params[type(flat)]
        values = {key: getattr(flat, key) for key in own.model_fields}
        return AlgorithmEntry(
            kind=flat.kind,
            name=flat.name,
            params=own.model_construct(**values),
            training=flat.training,
            stages=flat.stages,
            set=flat.set,
        )

    members = tuple(params)
    one: Any = members[0]
    if len(members) > 1:
        one = Annotated[union(members), Field(discriminator="kind")]
    entries = tuple[Annotated[one, AfterValidator(entry)], ...]
    return create_model("ScenarioFile", __base__=tables, algorithm=(entries, Field(min_length=1)))


def build_parts(model: type[BaseModel]) -> None:
    """Build the tables inside a model one by one, innermost first: other models share them.

    That takes as long as building it whole, and a model of the same tables and one more is built
    in a seventh of the time.
    """
    waiting = [field.annotation for field in model.model_fields.values()]
    while waiting:
        part = waiting.pop()
        if isinstance(part, type) and issubclass(part, BaseModel):
            if not part.__pydantic_complete__:
                build_parts(part)
        else:
            waiting += get_args(part)
    model.model_rebuild(raise_errors=False)
