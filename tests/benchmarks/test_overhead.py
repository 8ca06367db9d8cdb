import json
from pathlib import Path

import torch

from scnf.benchmarks import overhead

ROOT = Path(__file__).parents[2]


def test_the_record_tells_the_thread_of_the_measurement(monkeypatch):
    monkeypatch.setattr(overhead, "_WARMUP_STEPS", 1)
    before = torch.get_num_threads()
    record = overhead.measure(blocks=1, steps_per_block=1)
    assert record["machine"]["threads"] == 1
    assert record["bare_ms"] > 0
    assert record["loop_ms"] > 0
    assert torch.get_num_threads() == before


def test_the_loop_costs_little_above_the_bare_step():
    kept = json.loads((ROOT / "results" / "bench" / "overhead.json").read_text("utf-8"))
    assert 0 < kept["overhead_percent"] < 15
    assert kept["bare_ms"] < kept["loop_ms"] < 1.15 * kept["bare_ms"]
