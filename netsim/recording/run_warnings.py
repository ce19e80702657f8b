"""Warnings of a run: what its user should know before reading its numbers."""


class RunWarnings:
    """Texts for `warnings` in `summary.json` and for the terminal, one of each subject.

    Attributes
    ----------
    texts : list of str
        In the order in which they came.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._subjects: set[str] = set()

    def once(self, subject: str, text: str) -> None:
        """Add a warning, unless there is one of this subject already."""
        if subject not in self._subjects:
            self._subjects.add(subject)
            self.texts.append(text)
