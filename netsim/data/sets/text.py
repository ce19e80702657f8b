"""Text: the characters of a file as numbers, cut into sequences, for models that predict the next.

Without a file it is `sonnets.txt` beside this module: twenty of Shakespeare's sonnets (1609).
"""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from netsim.data.sets import DataSet, Outline, Samples
from netsim.data.split import hold_out
from netsim.errors import DataError
from netsim.registry import FilePath, Index
from netsim.traces.files import read_text

SHIPPED = Path(__file__).with_name("sonnets.txt")


class Text(DataSet):
    """Sequences of `length` + 1 characters; `groups` are the file's passages.

    Empty lines part passages: poems, chapters, authors. No sequence reaches from one into another;
    what is left over at a passage's end is left out. Tokens are the characters that occur, in the
    order of their code points.

    Parameters
    ----------
    file : str, optional
        A text in UTF-8. Absent: twenty sonnets that come with netsim.
    length : int
        Characters of a sequence that a model sees.
    test_fraction : float
        Share of each passage's sequences held out.
    split_seed : int
        Chooses the hold-out. It is not the scenario's seed.
    """

    kind: Literal["text"] = "text"
    file: FilePath | None = None
    length: Annotated[int, Field(ge=1, le=1 << 16)] = 32
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.25
    split_seed: Index = 0

    needs_files: ClassVar[bool] = False
    full_size: ClassVar[tuple[int, int]] = (270, 90)

    def outline(self) -> Outline:
        """Describe the shipped text without reading it."""
        return Outline((self.length + 1,), 1, *self.full_size, 58)

    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the file; called by `load`."""
        text = SHIPPED.read_text(encoding="utf-8")
        if self.file is not None:
            text = read_text(self.file, folder, "data", "file").content.replace("\r\n", "\n")
        passages = [passage for passage in text.split("\n\n") if passage.strip()]
        characters = sorted(set("".join(passages)))
        number = {character: i for i, character in enumerate(characters)}
        size = self.length + 1
        cut = [_sequences([number[c] for c in passage], size) for passage in passages]
        x = np.concatenate(cut or [np.zeros((0, size), dtype=np.int64)])
        if len(x) < 2:
            raise DataError(
                f"[data] length = {self.length}: no passage of the text is so long; write fewer"
            )
        groups = np.repeat(np.arange(len(cut)), [len(sequences) for sequences in cut])
        train, test = hold_out(groups, self.test_fraction, self.split_seed)
        return Samples(
            x=x,
            y=np.zeros(len(x), dtype=np.int64),
            train=train,
            test=test,
            num_classes=1,
            class_names=("text",),
            name="text",
            notes=(
                f"{self.file or SHIPPED.name}: {len(passages)} passages, {len(characters)} "
                f"characters; hold-out of {self.test_fraction:g} by seed {self.split_seed}"
            ),
            groups=groups,
            input_limit=len(characters),
        )


def _sequences(numbers: list[int], size: int) -> np.ndarray:
    """(k, size): as many as fit, one after another."""
    whole = len(numbers) // size
    return np.array(numbers[: whole * size], dtype=np.int64).reshape(whole, size)
