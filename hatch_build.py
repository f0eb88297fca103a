"""What a wheel gets besides the sources: kernels, a manual page, the tables of two real datasets.

The kernels are compiled if there are compilers of C and C++. Without them the package is complete
all the same: NumPy then computes the same sums, slower.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from platform import machine
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FLAGS = ["-O3", "-shared", "-fPIC", "-fno-math-errno", "-fno-trapping-math"]
_FLAGS += ["-fopenmp-simd", "-pthread"]
_LEVELS = ("v3", "v4")
"""Of x86-64: the processors of the last ten years, and those with AVX-512."""
_X86 = ("x86_64", "amd64")
_CARRIED = {
    "dots": ("items.csv", "model_scores.csv", "ratings.csv", "README.md"),
    "llmfao": ("battles.csv", "items.csv", "README.md"),
}
"""The tables of the demos: Dots (MIT), whose judgments follow from the ranks in ratings.csv, and
LLMFAO (CC BY 4.0; the truth MPL-2.0), 80 kB when packed."""


class BuildHook(BuildHookInterface):
    """Builds ``kernels.so`` beside its sources: it needs no Python header and no Python version."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name what else to gather."""
        if self.target_name != "wheel":
            return
        if version != "editable":  # a clone has them in datasets/
            for path in (f"datasets/{kind}/{name}" for kind in _CARRIED for name in _CARRIED[kind]):
                build_data["force_include"][path] = f"aggcal/{path}"
            page = self._manual()
            if page is not None:
                build_data["shared_data"][str(page)] = "share/man/man1/aggcal.1"
        folder = Path(self.root) / "src" / "aggcal" / "_core" / "kernels"
        sources = sorted(str(path) for kind in ("c", "cpp") for path in folder.glob(f"*.{kind}"))
        target = folder / "kernels.so"
        wide = {level: folder / f"kernels-{level}.so" for level in _LEVELS}
        for path in wide.values():
            path.unlink(missing_ok=True)
        try:
            _compile(_FLAGS, sources, target)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"aggcal: no compiled kernels ({error}); NumPy will do", file=sys.stderr)  # noqa: T201
            target.unlink(missing_ok=True)
            return
        if machine().lower() in _X86:
            # Again for processors that can do more: which is used is settled when it is loaded.
            # Not every compiler knows them.
            here = _level(target) if version == "editable" else None
            for level, path in wide.items():
                if here is not None and level != here:
                    continue  # a clone stays on its machine: each takes half a minute
                with suppress(OSError, subprocess.CalledProcessError):
                    _compile([*_FLAGS, f"-march=x86-64-{level}"], sources, path)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False

    def _manual(self) -> Path | None:
        """Make the manual page; the table that it comes from needs nothing but Python."""
        page = Path(tempfile.mkdtemp()) / "aggcal.1"
        source = os.pathsep.join((str(Path(self.root) / "src"), os.environ.get("PYTHONPATH", "")))
        code = "from aggcal.cli.manual import page; print(page(), end='')"
        command = [sys.executable, "-c", code]
        try:
            with page.open("wb") as file:
                subprocess.run(  # noqa: S603
                    command, check=True, stdout=file, env={**os.environ, "PYTHONPATH": source}
                )
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"aggcal: no manual page ({error})", file=sys.stderr)  # noqa: T201
            return None
        return page


def _level(library: Path) -> str | None:
    """Ask the kernels which level of x86-64 this processor has; None where they do not say."""
    try:
        return f"v{ctypes.CDLL(str(library)).aggcal_level()}"
    except (OSError, AttributeError):
        return None


def _compiler(source: str) -> list[str]:
    """Return what compiles C, or C++ and links both."""
    variable, usual = ("CC", "cc") if source.endswith(".c") else ("CXX", "c++")
    named = os.environ.get(variable) or sysconfig.get_config_var(variable) or usual
    return [*shlex.split(named), *([] if variable == "CC" else ["-std=c++17"])]


def _compile(flags: list[str], sources: list[str], target: Path) -> None:
    """Compile each source on a core of its own, and link what comes of them."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:

        def run(source: str, *more: str) -> None:
            command = [*_compiler(source), *flags, *more]
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603

        made = [str(Path(folder, f"{Path(source).stem}.o")) for source in sources]
        for _ in pool.map(lambda source, to: run(source, "-c", source, "-o", to), sources, made):
            pass  # what failed is raised here
        run("", "-o", str(target), *made, "-lm")
