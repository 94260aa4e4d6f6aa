"""Check a program's attention against a known-good run, one matrix at a time.

    import qkv
    verdict = qkv.check("the-fat-cat", {"scores": scores, "attention_weights": weights})
    assert verdict, verdict                       # the report says which number is wrong, and why
    qkv.assert_right(model, ids=[1, 4, 3])        # a PyTorch model, every step that its modules show

The package calls the program `qkv` that it carries, and knows nothing by itself.
"""

from ._program import QkvError
from ._torch import record, verify
from ._verdict import Verdict, assert_right, check, compare, trace

__all__ = ["QkvError", "Verdict", "assert_right", "check", "compare", "record", "trace", "verify"]
__version__ = "0.1.0"
