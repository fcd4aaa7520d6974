"""Builds the compiled module `cuecard.stats._native`; everything else is said in pyproject.toml.

CUECARD_BOUNDSCHECK=1 builds it with bounds checks, as tests do. REPOSITORY_URL is the address of the repository, which
becomes part of the metadata, where links and pictures of the README lead there; workflows take it from the repository's
variable of that name.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CCompilerError, ExecError, PlatformError

SOURCES = Path("src/cuecard/stats")
NO_COMPILER = (
    "CueCard's compiled module could not be built: it needs a C compiler and the headers of Python. "
    "Type `apt-get install gcc python3-dev` (Debian, Ubuntu), `dnf install gcc python3-devel` (Fedora) or "
    "`xcode-select --install` (macOS), then install again."
)
#: The same bits everywhere: no fused multiply-add, whatever the processor has.
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-ffp-contract=off", "-g0"]


class BuildNative(build_ext):
    """Builds the module, and says in one sentence what a machine lacks that cannot."""

    def build_extensions(self) -> None:
        """Build the module."""
        try:
            super().build_extensions()
        except (CCompilerError, ExecError, PlatformError) as error:
            sys.exit(f"{error}\n{NO_COMPILER}")


checked = os.environ.get("CUECARD_BOUNDSCHECK", "0") not in ("", "0")
native = Extension(
    "cuecard.stats._native",
    [str(SOURCES / "_native.pyx")],
    depends=sorted(map(str, (SOURCES / "native").glob("*.pxi"))),
    include_dirs=[np.get_include()],
    define_macros=[(name, "NPY_2_0_API_VERSION") for name in ("NPY_NO_DEPRECATED_API", "NPY_TARGET_VERSION")],
    extra_compile_args=FLAGS,
)
directives = {
    "language_level": 3,
    "boundscheck": checked,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": checked,
}
repository = os.environ.get("REPOSITORY_URL", "").rstrip("/")
addresses = {"Source": "", "Issues": "/issues", "Changelog": "/blob/main/CHANGELOG.md"}
readme = Path("README.md").read_text(encoding="utf-8")
if repository:  # outside the repository, relative links lead nowhere
    readme = re.sub(r"(!\[[^\]]*\]\()(?=\w+/)", rf"\1{repository}/raw/main/", readme)
    readme = re.sub(r"(\]\()(?!\w+://)(?=[\w/-]+\.)", rf"\1{repository}/blob/main/", readme)
setup(
    long_description=readme,
    long_description_content_type="text/markdown",
    project_urls={name: repository + path for name, path in addresses.items()} if repository else {},
    ext_modules=cythonize([native], compiler_directives=directives, force="--force" in sys.argv or checked),
    cmdclass={"build_ext": BuildNative},
)
