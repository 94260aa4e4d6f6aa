"""Builds the wheel with setuptools, also where pip hides the system's packages from a build.

pip builds in an environment of its own, and would fetch setuptools and wheel for it. Debian's python3-setuptools
and python3-wheel will do.
"""

import sys

DEBIAN = "/usr/lib/python3/dist-packages"
if DEBIAN not in sys.path:
    sys.path.append(DEBIAN)

from setuptools import build_meta  # noqa: E402
from setuptools.build_meta import (  # noqa: E402, F401
    build_sdist, build_wheel, prepare_metadata_for_build_wheel)


def get_requires_for_build_wheel(config_settings=None):
    """Nothing is fetched."""
    return []


def get_requires_for_build_sdist(config_settings=None):
    """Nothing is fetched."""
    return []


build_editable = build_meta.build_editable
get_requires_for_build_editable = get_requires_for_build_wheel
