"""Yahoo! Answers: questions with their best answers in ten topics (Zhang, Zhao and LeCun, 2015)."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from netsim.data import files
from netsim.data.sets import DataSet, Outline, Samples
from netsim.data.split import limit_rows
from netsim.registry import Count, Index

_WORD = re.compile(r"[a-z0-9']+")
_TEXT = ("question_title", "question_content", "best_answer")
_HOW_TO_GET = (
    "hf download community-datasets/yahoo_answers_topics --repo-type dataset "
    "--local-dir <data folder>/yahoo_answers"
)


class YahooAnswers(DataSet):
    """1,400,000 training and 60,000 test texts of 10 topics, as numbers of their first words.

    Parameters
    ----------
    train_rows : int, optional
        Number of training texts, the same share of each topic. Absent: all, which takes minutes.
    test_rows : int, optional
        Number of test texts, the same share of each topic. Absent: all.
    split_seed : int
        Chooses those texts. It is not the scenario's seed.
    vocabulary : int
        Number of distinct words, the most frequent ones of the training texts; it must equal the
        model's `vocabulary`. Number 0 is no word, 1 any other word.
    length : int
        Words of a text; longer texts are cut, shorter ones padded with 0.

    Notes
    -----
    A text is title, question and best answer; words are letters, digits and apostrophes, in small
    letters. The paper that takes this set (pFedGraph) says none of this.
    """

    kind: Literal["yahoo_answers"] = "yahoo_answers"
    train_rows: Count | None = None
    test_rows: Count | None = None
    split_seed: Index = 0
    vocabulary: Count = 20_000
    length: Count = 100

    full_size: ClassVar[tuple[int, int]] = (1_400_000, 60_000)

    def outline(self) -> Outline:
        """Describe the data set without reading it."""
        train, test = self.full_size
        rows = (self.train_rows or train, self.test_rows or test)
        return Outline((self.length,), 10, *rows, self.vocabulary)

    def read(self, folder: Path | None) -> Samples:
        """Read the samples from the files; called by `load`."""
        chosen, labels, names = [], [], tuple[str, ...]()
        for split, limit in (("train", self.train_rows), ("test", self.test_rows)):
            found = self._files(folder, split)
            table = files.read_table(found)
            y = files.labels(table, files.column(table, ("topic",), found[0]), 10, found[0])
            rows = limit_rows(
                y, np.arange(len(y)), limit, self.split_seed, f"{split}_rows", "yahoo_answers"
            )
            names = names or files.class_names(table, "topic", 10)
            chosen.append(_split_words(table.take(rows), found[0]))
            labels.append(y[rows])
        counted = Counter(word for text in chosen[0] for word in text)
        ranked = sorted(counted, key=lambda word: (-counted[word], word))
        number = {word: 2 + i for i, word in enumerate(ranked[: max(self.vocabulary - 2, 0)])}
        x = self._word_numbers([*chosen[0], *chosen[1]], number)
        return Samples(
            x=x,
            y=np.concatenate(labels),
            train=np.arange(len(labels[0])),
            test=np.arange(len(labels[0]), len(x)),
            num_classes=10,
            class_names=names,
            name="yahoo_answers",
            notes=f"the first {self.length} words; {len(number)} are told apart",
        )

    def _word_numbers(
        self, texts: Sequence[Sequence[str]], number: dict[str, int]
    ) -> NDArray[np.float32]:
        """(n, length) word numbers."""
        x = np.zeros((len(texts), self.length), dtype=np.float32)
        for row, words in zip(x, texts, strict=True):
            first = [number.get(word, 1) for word in words[: self.length]]
            row[: len(first)] = first
        return x

    def _files(self, folder: Path | None, split: str) -> list[Path]:
        name = "yahoo_answers"
        places = tuple(f"{name}{sub}" for sub in ("", "/data", "/yahoo_answers_topics"))
        return files.find_files(name, folder, places, (f"{split}-*.parquet",), _HOW_TO_GET)


def _split_words(table: pa.Table, file: Path) -> list[list[str]]:
    """The words of each text."""
    columns = [table.column(files.column(table, (name,), file)).to_pylist() for name in _TEXT]
    texts = (" ".join(part or "" for part in parts) for parts in zip(*columns, strict=True))
    return [_WORD.findall(text.lower()) for text in texts]
