"""Map the top-level folders to ``bestiary.*`` and compile the committed kernels.

Metadata is in ``pyproject.toml``.  Nothing is derived here: an installation
compiles the C and Cython files that are committed in ``generated/``.  In an
editable installation even that is left to ``bestiary build``, which compiles
in place, in parallel, and only what changed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
FOLDERS = {
    "bestiary": "app",
    "bestiary.modeling": "modeling",
    "bestiary.build_tools": "build_tools",
    "bestiary.generated": "generated",
    "bestiary.solvers": "solvers",
}


def packages() -> list[str]:
    """Every package below the mapped folders, under its ``bestiary.*`` name."""
    names = []
    for package, folder in FOLDERS.items():
        if (ROOT / folder / "__init__.py").exists():
            names += [package]
            names += [f"{package}.{name}" for name in find_packages(str(ROOT / folder))]
    return names


def extensions() -> list[Extension]:
    """One extension per committed robot: its Cython class over its f64 kernels."""
    found = []
    for manifest in sorted(ROOT.glob("generated/*/manifest.json")):
        folder = manifest.parent.relative_to(ROOT)
        sources = json.loads(manifest.read_text(encoding="utf-8"))["sources"]["f64"]
        found.append(
            Extension(
                f"bestiary.generated.{folder.name}._kernel",
                [str(folder / "_kernel.pyx"), *(str(folder / name) for name in sources)],
                include_dirs=[str(folder)],
                optional=True,  # without a compiler the NumPy form serves
            )
        )
    return found


class BuildExtensions(build_ext):
    """Compile for a wheel; leave an editable installation to ``bestiary build``."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.editable_mode:
            self.extensions = []
            self.distribution.ext_modules = []

    def build_extension(self, ext: Extension) -> None:
        import numpy
        from Cython.Build import cythonize

        # the translated C belongs among the temporary files, not beside its source
        ext.include_dirs.append(numpy.get_include())
        ext.sources = cythonize([ext], build_dir=self.build_temp, quiet=True)[0].sources
        super().build_extension(ext)

    def run(self) -> None:
        if self.extensions:
            super().run()


def version() -> str:
    """The version string of ``modeling/version.py``, read without importing anything."""
    text = (ROOT / "modeling" / "version.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "([^"]+)"', text)
    if found is None:
        raise SystemExit('modeling/version.py: no line of the form __version__ = "..."')
    return found[1]


GENERATED_FILES = ("*.c", "*.h", "*.pyx", "*.pyi", "*.json", "README.md", "CMakeLists.txt")

setup(
    version=version(),
    packages=packages(),
    package_dir=FOLDERS,
    package_data={
        "bestiary": ["py.typed"],
        "bestiary.build_tools": ["templates/*"],
        "bestiary.generated": [f"*/{pattern}" for pattern in GENERATED_FILES],
    },
    exclude_package_data={"bestiary.generated": ["*/_kernel.c", "*/_kernel.stamp.json"]},
    include_package_data=False,
    ext_modules=extensions(),
    cmdclass={"build_ext": BuildExtensions},
    zip_safe=False,
)
