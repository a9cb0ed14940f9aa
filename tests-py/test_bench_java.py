"""bench's Java client writes a report that docs/json.md describes, and reads it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import jccl.bindings
import pytest
from jccl.bindings import load

ROOT = Path(__file__).parent.parent
LIBRARY = Path(jccl.bindings.__file__).parent.parent / "_lib"
RANKS = 2
LIMIT_S = 300


def documented() -> set[str]:
    """The fields of a report, those inside of figures included."""
    page = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
    chapter = page.split("\n## ")[2]
    return set(re.findall(r"^\| `([\w.\[\]]+)`", chapter, re.MULTILINE))


def test_the_report_is_what_the_documentation_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    import compare

    setting = compare.Setting(LIBRARY, Path(load().java_home()))
    setting.classes = tmp_path / "classes"
    compare.build_java(setting)
    java, report = compare.java_command(setting), tmp_path / "report.json"
    quick = {"MEASURE_SERIES_MS": "1", "MEASURE_PATIENCE_MS": "1", "MEASURE_JSON": str(report)}
    client = [*java, "AllReduceClient"]
    started = [
        subprocess.Popen(
            [*client, str(rank), str(RANKS), str(tmp_path / "meeting"), "8", "65536"],
            env={**os.environ, **quick},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    outputs = [process.communicate(timeout=LIMIT_S)[0] for process in started]
    assert [process.returncode for process in started] == [0] * RANKS, outputs
    found = json.loads(report.read_text(encoding="utf-8"))
    inner = {f"figures[].{name}" for figure in found["figures"] for name in figure}
    assert set(found) | inner == documented()
    assert found["schema"] == "jccl-bench-all-reduce/1"
    assert [figure["bytes"] for figure in found["figures"]] == [8, 65536]
    assert found["statistics"]["calls"]["ALL_REDUCE"] > 0
    reader = subprocess.run(
        [*java, "Report", str(report)], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    assert reader.stdout == outputs[0]
