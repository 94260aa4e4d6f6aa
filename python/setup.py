"""Puts the program into the package: build/release/qkv of the repository, built first if it is not there; outside of the
repository, the one that is in qkv/bin."""

import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parent / "build" / "release" / "qkv"


class WithProgram(build_py):
    """Copies the program beside the modules."""

    def run(self):
        inside = HERE / "qkv" / "bin"
        is_in_repository = (HERE.parent / "CMakePresets.json").is_file()
        if is_in_repository and not PROGRAM.is_file():
            for command in (["cmake", "--preset", "release"],
                            ["cmake", "--build", "--preset", "release", "--target", "qkv"]):
                subprocess.run(command, cwd=HERE.parent, check=True)
        if is_in_repository:
            inside.mkdir(exist_ok=True)
            shutil.copy2(PROGRAM, inside / "qkv")
        if not (inside / "qkv").is_file():
            raise SystemExit("the program is missing: install from the repository, or put it at qkv/bin/qkv")
        super().run()


class ForThisMachine(bdist_wheel):
    """Any Python 3, but this machine's processor and system: the program is static."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithBinary(Distribution):
    """Not a package of Python alone."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": WithProgram, "bdist_wheel": ForThisMachine}, distclass=WithBinary)
