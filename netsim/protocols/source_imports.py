"""Import of a user's files from their text, never from bytecode beside them.

Python takes bytecode for that of a file whose size and second of change are the same. A user's
files change between two runs of one process, and archives give all their files one time.
"""

from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
)
from types import CodeType, ModuleType


class _FromText(SourceFileLoader):
    """Loader that compiles a file whenever it is imported."""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        code: CodeType | None = self.source_to_code(self.get_data(path), path)
        return code


_LOADERS = (ExtensionFileLoader, EXTENSION_SUFFIXES), (_FromText, SOURCE_SUFFIXES)


class SourceFinder(MetaPathFinder):
    """Finder of a user's modules, for `sys.meta_path`.

    Parameters
    ----------
    is_own : callable
        (full name) -> whether a module is the user's.
    folders : sequence of str
        Where those lie that are in no package.
    """

    def __init__(self, is_own: Callable[[str], bool], folders: Sequence[str] = ()) -> None:
        self._is_own, self._folders = is_own, folders

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a user's module; None: it is none, or a folder without a file of its own.

        Parameters
        ----------
        fullname : str
        path : sequence of str or None
            Where the package lies that it is in; None: it is in none.
        target : module or None
            That is loaded anew.
        """
        if not self._is_own(fullname):
            return None
        for place in self._folders if path is None else path:
            found = FileFinder(place, *_LOADERS).find_spec(fullname, target)
            if found is not None and found.loader is not None:
                return found
        return None
