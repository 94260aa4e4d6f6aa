"""Holds what `qkv check --json` prints against its schema, where python3-jsonschema is there."""

import json
import pathlib

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "schemas" / "check.schema.json"

try:
    import jsonschema

    _schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(_schema)
    _validator = jsonschema.Draft202012Validator(_schema)
except ImportError:
    _validator = None


def fault_of(printed):
    """The first fault of a report, or of a list of them, in words; empty where there is none."""
    if _validator is None:
        return ""
    return next((f"{list(e.path)}: {e.message[:200]}" for e in _validator.iter_errors(printed)), "")
