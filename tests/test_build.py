"""What a wheel is made of: the hook compiles the kernels that are there, and adds Dots."""

from __future__ import annotations

import gzip
import importlib.util
import shutil
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aggcal._core.kernels import library
from aggcal.registry.datasets import DOTS, LLMFAO

ROOT = Path(__file__).resolve().parents[1]
KERNELS = Path("src") / "aggcal" / "_core" / "kernels"
NAMES = ("kernels.so", "kernels-v3.so", "kernels-v4.so")


def hook(root: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The build hook, with a stand-in for Hatchling, which only builds need."""
    name = "hatchling.builders.hooks.plugin.interface"
    for end in range(1, 6):
        part = ".".join(name.split(".")[:end])
        monkeypatch.setitem(sys.modules, part, ModuleType(part))
    sys.modules[name].BuildHookInterface = object  # type: ignore[attr-defined]
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "hatch_build", module)
    spec.loader.exec_module(module)
    made = module.BuildHook()
    made.root, made.target_name = str(root), "wheel"
    return made


@pytest.mark.parametrize("version", ["standard", "editable"])
def test_a_wheel_gets_kernels_and_the_tables_of_dots(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / KERNELS).mkdir(parents=True)
    sources = [tmp_path / KERNELS / path.name for path in (ROOT / KERNELS).glob("*.[ch]*")]
    for source in sources:
        source.write_bytes((ROOT / KERNELS / source.name).read_bytes())
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\ntest -f "{sources[0]}" && echo "$@" >> "{tmp_path}/asked"\n')
    compiler.chmod(0o755)
    for variable in ("CC", "CXX"):
        monkeypatch.setenv(variable, str(compiler))
    data: dict[str, Any] = {"force_include": {}, "shared_data": {}}
    hook(tmp_path, monkeypatch).initialize(version, data)
    asked = (tmp_path / "asked").read_text().split()
    assert set(asked) >= {str(source) for source in sources if source.suffix in (".c", ".cpp")}
    assert len(sources) > 1
    assert data["pure_python"] is False
    added = data["force_include"]
    assert all((ROOT / path).is_file() for path in added)
    if version == "editable":
        assert not added  # a clone has them already
        return
    ((page, target),) = data["shared_data"].items()
    assert target == "share/man/man1/aggcal.1"
    assert Path(page).read_text(encoding="utf-8").startswith(".TH AGGCAL 1")
    targets = {Path(target) for target in added.values()}
    for info in (DOTS, LLMFAO):
        assert targets >= {Path("aggcal/datasets") / info.folder / name for name in info.needs}
    packed = (gzip.compress((ROOT / path).read_bytes()) for path in added)
    assert sum(map(len, packed)) < 150_000


def test_only_what_may_be_passed_on_is_packed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packed = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert [path for path in packed if path.startswith("datasets")] == [
        "datasets/README.md",
        "datasets/dots",
        "datasets/llmfao",
    ]
    assert project["project"]["license"] == "Apache-2.0 AND MIT AND CC-BY-4.0 AND MPL-2.0"
    for path in project["project"]["license-files"]:
        assert (ROOT / path).is_file()
    artifacts = project["tool"]["hatch"]["build"]["artifacts"]
    assert artifacts == [(KERNELS / name).as_posix() for name in NAMES]


@pytest.mark.parametrize(
    ("build", "here", "levels"),
    [
        ("x86_64 standard", "v3", {"v3", "v4"}),
        ("x86_64 editable", "v3", {"v3"}),
        ("x86_64 editable", "v1", set()),
        ("x86_64 editable", None, {"v3", "v4"}),
        ("aarch64 standard", None, set()),
    ],
)
def test_x86_gets_kernels_for_wider_vectors_besides(
    build: str,
    here: str | None,
    levels: set[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A wheel is for any of these processors, a clone for its own."""
    processor, version = build.split()
    (tmp_path / KERNELS).mkdir(parents=True)
    (tmp_path / KERNELS / "one.c").touch()
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> "{tmp_path}/asked"\n')
    compiler.chmod(0o755)
    for variable in ("CC", "CXX"):
        monkeypatch.setenv(variable, str(compiler))
    made = hook(tmp_path, monkeypatch)
    module = sys.modules[type(made).__module__]
    monkeypatch.setattr(module, "machine", lambda: processor)
    if here is not None:
        monkeypatch.setattr(module, "_level", lambda _: here)
    made.initialize(version, {"force_include": {}, "shared_data": {}})
    lines = (tmp_path / "asked").read_text().splitlines()
    for level in ("v3", "v4"):
        wide = [line for line in lines if f"-march=x86-64-{level}" in line]
        assert len(wide) == (2 if level in levels else 0)
        assert any(f"kernels-{level}.so" in line for line in wide) is (level in levels)
    assert sum("kernels.so" in line for line in lines) == 1


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_kernels_are_there_where_they_can_be_compiled() -> None:
    """Many tests compare them with NumPy, and would be skipped in silence."""
    assert library() is not None
