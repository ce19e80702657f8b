"""Compiles the native kernel into the wheel; where that fails, the wheel is one of pure Python.

Environment variables: `NETSIM_NATIVE=0` leaves the kernel out, `NETSIM_WHEEL=TAG:TARGET` makes a
wheel for another platform (`tools/wheels.py` knows which), `NETSIM_REPOSITORY=URL` is the
repository that the wheel's description and metadata lead to.
"""

import importlib.util
import os
import re
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

FOLDER = "netsim/backends/native"


class KernelHook(BuildHookInterface):
    """Hook that adds the library to the wheel; an editable install finds it in the checkout."""

    def dependencies(self) -> list[str]:
        """A compiler, unless there is nothing to compile or another one is named."""
        asked = os.environ.get("NETSIM_WHEEL")
        if "CXX" in os.environ or (not asked and (_unwanted() or self._build().is_built())):
            return []
        return ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile for this machine, in the checkout, or for another platform, beside it."""
        tag, _, target = os.environ.get("NETSIM_WHEEL", "").partition(":")
        if target:
            self._scratch = tempfile.TemporaryDirectory()
            library = self._build().build(Path(self._scratch.name), target=target)
        elif _unwanted():
            self._warn("NETSIM_NATIVE=0")
            return
        else:
            build = self._build()
            library = build.HERE / build.library_name()
            try:
                if not build.is_built():
                    build.build()
            except (build.BuildError, OSError) as error:
                lines = str(error).splitlines()
                self._warn(next((line for line in lines[1:] if "error" in line), lines[0]))
                return
            tag = self.build_config.builder.get_best_matching_tag().rpartition("-")[2]
        if version == "editable":
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"
        build_data["force_include"][str(library)] = f"{FOLDER}/{library.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled for another platform."""
        if hasattr(self, "_scratch"):
            self._scratch.cleanup()

    def _build(self) -> ModuleType:
        """`build.py` by its path: importing `netsim` takes PyTorch."""
        path = Path(self.root, FOLDER, "build.py")
        spec = importlib.util.spec_from_file_location("netsim_native_build", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def _warn(self, why: str) -> None:
        self.app.display_warning(f"netsim is built without its native kernel: {why}")


class LinksHook(MetadataHookInterface):
    """Hook that writes the description, and the URLs if the repository is named.

    The package index shows README apart from its repository, where relative links lead nowhere.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description and the URLs."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository = os.environ.get("NETSIM_REPOSITORY", "").rstrip("/")
        if repository:
            at = f"{repository}/blob/v{metadata['version']}"
            picture = f"{repository}/raw/v{metadata['version']}"
            metadata["urls"] = {
                "Source": repository,
                "Documentation": f"{at}/docs/index.md",
                "Changelog": f"{at}/CHANGELOG.md",
                "Issues": f"{repository}/issues",
            }
            readme = re.sub(r"(!\[[^]]*\]\()(?!\w+:)", rf"\1{picture}/", readme)
            readme = re.sub(r"((?<!!)\[[^]]*\]\()(?!\w+:)", rf"\1{at}/", readme)
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}


def _unwanted() -> bool:
    return os.environ.get("NETSIM_NATIVE") == "0"
