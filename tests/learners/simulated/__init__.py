"""Simulated learners, and what a check owes them; tests/learners/simulate.py tells more."""

import sys
from decimal import getcontext
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference"))
np.seterr(all="ignore")  # learners divide by zero, too
getcontext().prec = 400  # so that any double can be rounded to so many decimals
