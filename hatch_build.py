"""Compile the kernels when the package is built, if there is a C compiler to do it with.

Without one the package is complete all the same: NumPy then computes the same sums, slower.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_FLAGS = ["-O3", "-shared", "-fPIC", "-fno-math-errno", "-fno-trapping-math"]


class KernelBuildHook(BuildHookInterface):
    """Builds ``kernels.so`` beside its source; it needs no Python header and no Python version."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Compile before the files are gathered."""
        if self.target_name != "wheel":
            return
        folder = Path(self.root) / "src" / "aggcal" / "kernels"
        source, target = folder / "kernels.c", folder / "kernels.so"
        compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
        command = [*compiler, *_FLAGS, "-o", str(target), str(source), "-lm"]
        # Not every compiler can make code for several processors: then for one.
        for more in ([], ["-DONE_PROCESSOR"]):
            try:
                subprocess.run([*command, *more], check=True, capture_output=True)  # noqa: S603
                break
            except (OSError, subprocess.CalledProcessError) as error:
                failure = error
        else:
            print(f"aggcal: no compiled kernels ({failure}); NumPy will do", file=sys.stderr)  # noqa: T201
            target.unlink(missing_ok=True)
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
