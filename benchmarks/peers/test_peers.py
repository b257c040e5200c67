"""What needs no runtime but python3: `python3 -m unittest discover -t benchmarks -s benchmarks/peers`.
"""

from __future__ import annotations

import json
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

from . import chart, record
from .precision import OPENVINO, PRECISIONS, all_peers, default_cells, graph_of, peers_of
from .results import Results
from .settings import OURS, PEERS, Cell, gflop, onnx_batch, our_dtype, ours, takes_part


def row(peer: str, median: float, least: float, cell: str = "8:224") -> dict[str, object]:
    return {
        "model": "dinov2-small",
        "cell": cell,
        "peer": peer,
        "threads": 2,
        "median_ms": median,
        "min_ms": least,
        "round_medians_ms": [least, median, 2 * median],
        "rounds": 3,
        "undisturbed": 2,
        "peak_mb": 100.0,
        "max_abs": 2e-6,
        "cosine": 1.0,
        "gflops_best": gflop("dinov2-small", 224) / least * 1e3,
        "roof_gflops": 320.0,
    }


def results(folder: Path) -> Results:
    made = Results(folder / "raw.json")
    for peer, median, least in (("openvino", 52.0, 51.0), ("onnxruntime", 53.0, 49.0), (OURS, 44.0, 42.0)):
        made.add("forward", row(peer, median, least), "model", "cell", "peer", "threads")
    made.add("forward", row(OURS, 41.0, 40.0, "256:224"), "model", "cell", "peer", "threads")
    ways = {"torch.mm": {"gflops": 280.0, "shape": "1 × 2 × 3"}}
    made.add("roof", {"model": "dinov2-small", "threads": 2, "gflops": 300.0, "ways": ways}, "model", "threads")
    made.add("cold", {"peer": OURS, "threads": 2, "median_s": 0.1, "min_s": 0.1}, "peer", "threads")
    made.add("cold", {"peer": "transformers", "threads": 2, "median_s": 5.0, "min_s": 4.0}, "peer", "threads")
    run = {"mode": "all", "arguments": "all", "threads": 2, "machine": "a machine", "versions": "rustc", "commit": "abc"}
    made.add("run", run, "mode")
    return made


class RecordTest(unittest.TestCase):
    def test_a_record_compares_with_the_best_peer_by_medians_and_by_least_times(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            page = record.write(results(Path(name)), Path(name), "2026-01-01")
            text = page.read_text()
            self.assertIn("| dinov2-small | 224 | 8 | 44.0 / 42.0 | 52.0 / 49.0 (openvino / onnxruntime) | 1.18 | 1.17 | 91 % | 78 % |", text)
            self.assertIn("| dinov2-small | 224 | 256 | 41.0 / 40.0 |  |  |  | 96 % |  |", text)
            self.assertIn("| 2 | transformers | 5.00 | 4.00 | 50.0 |", text)
            self.assertIn("    benchmarks/run.sh all\n", text)
            figures = json.loads((page.parent / "2026-01-01-peers.json").read_text())
            self.assertEqual(len(figures["forward"]), 4)
            picture = xml.etree.ElementTree.parse(page.parent / "2026-01-01-peers-2.svg").getroot()
            bars = [element for element in picture if element.tag.endswith("rect")]
            self.assertEqual([bar.get("fill") for bar in bars][0], chart.COLOURS[OURS], "the fastest first")
            self.assertEqual(len(bars), 3, "no cell without a peer")

    def test_a_lower_precision_is_compared_with_its_own_best_peer_and_with_our_f32_of_the_same_run(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            made = results(Path(name))
            figures = (OURS, 40.0, 39.0, 1.0), (ours("f16"), 20.0, 19.5, 0.99999), ("openvino-bf16", 30.0, 26.0, 0.9999)
            for peer, median, least, cosine in (*figures, ("torch-bf16", 29.0, 28.0, 0.9998), ("openvino", 44.0, 42.9, 1.0)):
                made.add("half", row(peer, median, least) | {"cosine": cosine}, "model", "cell", "peer", "threads")
            page = record.write(made, Path(name), "2026-01-01")
            text = page.read_text()
            self.assertIn("# dinoxide beside other CPU runtimes, f32, half, 2026-01-01\n", text)
            best = "29.0 / 26.0 (torch-bf16 / openvino-bf16)"
            line = f"| f16 | 20.0 / 19.5 | {best} | 1.45 / 1.33 | 2.00 / 2.00 | 2.20 / 2.20 | 0.999990 | 0.999900 |"
            self.assertIn(f"| dinov2-small | 224 | 8 {line}", text)
            self.assertIn("| openvino-bf16 | 30.0 | 26.0 | 26.0 – 60.0 | 2 of 3 | 1.33 / 1.50 | 2.0e-06 | 0.9999000 | 100 |", text)
            self.assertIn("| dinov2-small | 224 | 8 | 44.0 / 42.0 |", text, "the f32 of the f32 run stays its own")
            picture = xml.etree.ElementTree.parse(page.parent / "2026-01-01-peers-half-2.svg").getroot()
            self.assertEqual(len([element for element in picture if element.tag.endswith("rect")]), 5)

    def test_a_row_measured_again_replaces_the_old_one_on_disk(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            made = results(Path(name))
            made.add("forward", row(OURS, 40.0, 39.0), "model", "cell", "peer", "threads")
            again = Results(made.path).rows("forward", peer=OURS, cell="8:224")
            self.assertEqual([it["median_ms"] for it in again], [40.0])


class SettingsTest(unittest.TestCase):
    def test_operations_are_those_of_the_formulas(self) -> None:
        self.assertAlmostEqual(gflop("dinov2-small", 224), 12.26, delta=0.02)
        self.assertAlmostEqual(gflop("dinov2-base", 224), 46.3, delta=0.1)
        self.assertAlmostEqual(gflop("dinov3-convnext-tiny", 224), 8.9, delta=0.05)

    def test_streams_take_single_pictures_and_large_batches_are_ours(self) -> None:
        self.assertEqual((onnx_batch("openvino-2s", 8), onnx_batch("openvino", 8)), (1, 8))
        wanted = [(OURS, 256, True), ("openvino", 256, False), ("openvino-2s", 1, False), ("openvino-2s", 8, True)]
        for peer, batch, expected in wanted:
            self.assertEqual(takes_part(peer, Cell(batch, 224)), expected, f"{peer}, batch {batch}")

    def test_every_peer_of_a_lower_precision_has_a_file_of_its_own_form(self) -> None:
        self.assertEqual(graph_of("openvino-int8-2s", "dinov2-small", Cell(8, 224)).name, "dinov2-small_b1_r224_int8-static.xml")
        self.assertEqual(graph_of("onnxruntime-int8", "dinov2-small", Cell(8, 224)).name, "dinov2-small_b8_r224_int8-dynamic.onnx")
        self.assertEqual(graph_of("openvino-bf16", "dinov2-small", Cell(8, 224)), Cell(8, 224).onnx("dinov2-small"))
        self.assertLessEqual({peer for peer in all_peers() if peer.startswith("openvino")}, set(OPENVINO))

    def test_peers_are_those_of_the_dtype_as_far_as_they_are_wanted(self) -> None:
        self.assertEqual(peers_of("f32", None), PEERS)
        self.assertEqual(peers_of("half", None), (*PRECISIONS["half"].peers, "openvino", "openvino-2s"))
        self.assertEqual(peers_of("int8", ["openvino-int8", "openvino-bf16"]), ("openvino-int8",))
        self.assertNotIn(ours("int8"), peers_of("int4", None), "ours is always there")

    def test_our_names_tell_the_dtype(self) -> None:
        for dtype in ("f32", "int4-a8"):
            self.assertEqual(our_dtype(ours(dtype)), dtype)
        self.assertIsNone(our_dtype("openvino-int8"))

    def test_every_model_has_cells_in_lower_precision_that_peers_take_part_in(self) -> None:
        for model, of_model in default_cells("int8").items():
            self.assertTrue(all(takes_part("openvino-int8", cell) for cell in of_model), model)


if __name__ == "__main__":
    unittest.main()
