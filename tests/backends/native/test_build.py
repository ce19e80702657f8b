"""Building the kernel: compilers, and platforms other than this one."""

import pytest

from netsim.backends.native import build


def test_another_platform_asks_for_zig_unless_cxx_names_a_compiler(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(build.shutil, "which", lambda name: f"/usr/bin/{name}")
    with pytest.raises(build.BuildError, match=r"g\+\+ does not compile for .* package ziglang"):
        build.build(tmp_path, target="x86_64-windows-gnu")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises((build.BuildError, OSError), match="no-such-compiler"):
        build.build(tmp_path, target="x86_64-windows-gnu")
