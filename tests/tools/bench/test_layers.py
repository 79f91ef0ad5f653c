"""The table of layers, from made-up figures and from a step measured for a moment."""
import csv
import json
import unittest

import support
from test_command import bench

CONFIG = """
device: cpu
seed: 1
data: {format: glyphs, num_train: 64, num_test: 10, partition: {scheme: iid, clients: 2}}
model: %s
training: {cohort: 2, batch_size: 8, optimizer: {name: sgd, lr: 0.05, momentum: 0.5}}
"""


def layer(number, kind, made, input_gradient=True, libtorch=0.004):
    products = {"forward": made, "data_gradient": made if input_gradient else 0.0, "weight_gradient": made}
    return {"layers": [{"number": number, "kind": kind, "in": "2 x 4 x 4", "out": "2 x 4 x 4"}], "products": products, "input_gradient": input_gradient,
            "forward_s": 0.001, "data_gradient_s": 0.002, "weight_gradient_s": 0.004, "libtorch_forward_s": libtorch, "libtorch_data_gradient_s": None,
            "libtorch_weight_gradient_s": libtorch}


FOUND = {"batch_size": 10, "peak_flops": 1e9, "step_s": 0.05, "libtorch_step_s": 0.1, "loss_s": 0.001, "optimizer_s": 0.002, "rest_s": 0.003,
         "layers": [layer("0", "conv2d", 1000.0, input_gradient=False), layer("1", "conv2d", 1000.0), layer("2", "tanh", 0.0, libtorch=None),
                    layer("3", "conv2d", 1000.0)]}


class Rows(unittest.TestCase):
    def test_equal_layers_are_one_row_but_for_the_first_whose_input_nobody_asks_about(self):
        from bench import layers
        first, others, tanh, *below = layers.rows_of(FOUND)
        self.assertEqual((first["count"], others["count"], tanh["count"]), (1, 2, 1))
        self.assertEqual([row["layers"] for row in below], ["loss", "optimizer", "gathering and the rest", "sum", "step"])
        # 2 · 1000 · 10 FLOPs in a millisecond, on a core with 1 GFLOP/s; the two others take twice as long for twice as much.
        self.assertAlmostEqual(first["forward_gflops"], 0.02)
        self.assertAlmostEqual(others["forward_gflops"], 0.02)
        self.assertAlmostEqual(others["forward_of_peak"], 0.02)
        self.assertAlmostEqual(others["weight_gradient_gflops"], 0.005)
        self.assertIsNone(first["data_gradient_gflops"])
        self.assertIsNone(tanh["forward_gflops"])
        self.assertIsNone(tanh["libtorch_forward_ms"])
        self.assertAlmostEqual(others["libtorch_forward_ms"], 8)

    def test_the_sum_stands_beside_the_step_and_the_share_counts_all_products(self):
        from bench import layers
        *_, whole, step = layers.rows_of(FOUND)
        self.assertAlmostEqual(whole["ms"], 4 * 7 + 1 + 2 + 3)
        self.assertAlmostEqual(whole["of_step"], 0.68)
        self.assertAlmostEqual(step["of_step"], 1)
        summary = layers.summary_of(FOUND)
        self.assertAlmostEqual(layers.step_flops(FOUND), 20 * (2 * 1000 + 3 * 2000))
        self.assertAlmostEqual(summary["of_peak"], 160e3 / 0.05 / 1e9)
        self.assertAlmostEqual(summary["ratio"], 2)

    def test_the_table_has_a_line_for_each_and_columns_one_below_the_other(self):
        from bench import layers
        lines = layers.table(FOUND).splitlines()
        self.assertEqual(len(lines), 2 + 3 + 5)
        self.assertTrue(lines[3].startswith("2 × conv2d: 2 x 4 x 4 to 2 x 4 x 4") or lines[3].startswith("conv2d"))
        self.assertEqual({len(line) for line in lines[1:]}, {len(lines[1])})


class Measured(support.TemporaryFolder):
    def measure(self, model, *more):
        (self.folder / "tiny.yaml").write_text(CONFIG % model)
        return bench("--layers", self.folder / "tiny.yaml", "--quick", "--out", self.folder / "out", *more)

    def test_a_step_of_a_small_network_is_taken_apart(self):
        done = self.measure("{name: mnist_cnn}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The core makes", done.stdout)
        with open(self.folder / "out/layers.csv", newline="") as file:
            rows = {row["layers"]: row for row in csv.DictReader(file)}
        conv1, conv2 = (row for name, row in rows.items() if name.startswith("conv2d"))
        self.assertEqual(conv1["data_gradient_gflops"], "")
        for figure in ("forward_gflops", "data_gradient_gflops", "weight_gradient_of_peak", "libtorch_forward_ms", "libtorch_data_gradient_ms", "of_step"):
            self.assertGreater(float(conv2[figure]), 0, figure)
        self.assertEqual(len([name for name in rows if name.startswith("linear")]), 2)
        for name in ("loss", "optimizer", "gathering and the rest"):
            self.assertGreater(float(rows[name]["ms"]), 0)
        parts = sum(float(row["ms"]) for name, row in rows.items() if name not in ("sum", "step"))
        self.assertAlmostEqual(parts, float(rows["sum"]["ms"]), places=3)
        # Minima of pieces against the minimum of whole steps, on a machine with other load.
        self.assertLess(float(rows["sum"]["of_step"]), 1.5)
        manifest = json.loads((self.folder / "out/manifest.json").read_text())
        self.assertEqual((manifest["layers"]["model"], manifest["layers"]["batch_size"]), ("mnist_cnn", 8))
        self.assertGreater(manifest["peak_gflops"], 0)
        self.assertGreater(manifest["of_peak"], 0)

    def test_keys_are_changed_by_set_which_goes_with_nothing_else(self):
        done = self.measure("{name: mlp}", "--set", "model={name: lr}", "--set", "training.batch_size=16")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("lr, batches of 16,", done.stdout)
        self.assertIn("--set 'model={name: lr}'", json.loads((self.folder / "out/manifest.json").read_text())["commands"][0])
        done = bench("W3", "--quick", "--set", "rounds=1", "--out", self.folder / "w3")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--set: goes with --layers alone", done.stderr)

    def test_a_residual_network_has_a_row_for_what_it_holds(self):
        done = self.measure("{layers: [{conv2d: {out: 4, kernel: 3, padding: 1}}, {residual: [{conv2d: {out: 4, kernel: 3, padding: 1}}]}, flatten, linear]}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("residual: 4 x 28 x 28 to 4 x 28 x 28", done.stdout)
        self.assertEqual(done.stdout.count("conv2d"), 2)

    def test_products_in_attention_and_of_recurrent_layers_are_counted(self):
        (self.folder / "play.txt").write_text("HER:\n" + "to be or not to be that is the question\n" * 9)  # 16 characters
        data = f"data={{format: text, train: {self.folder / 'play.txt'}, sequence: 5, partition: {{scheme: natural}}}}"
        done = self.measure("{name: lr}", "--set", data, "--set", "training.cohort=1", "--set", "model={layers: [{embedding: 4}, {attention: 2}, "
                            "{linear: {out: 6, lora: 2}}, {lstm: 3}, linear], frozen: ['2.weight']}")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.folder / "out/layers.csv", newline="") as file:
            rows = list(csv.DictReader(file))

        def products(name):
            row = next(row for row in rows if row["layers"].startswith(name))
            return [round(float(row[f"{one}_gflops"]) * float(row[f"{one}_ms"]) * 1e6 / 2 / 8) for one in ("forward", "data_gradient", "weight_gradient")]

        # 5 positions of 4 features: four products with weights of 4 x 4, and 5 x 5 x 4 for scores and for what positions see; twice that backward.
        self.assertEqual(products("attention"), [5 * 64 + 200, 5 * 64 + 400, 5 * 64])
        # A frozen weight of 6 x 4, factors of 2 x 4 and 6 x 2.
        self.assertEqual(products("linear: 5 x 4"), [5 * 44, 5 * 44, 5 * 20])
        # Four gates of 3 units from 6 features, and from the 4 states behind the first.
        self.assertEqual(products("lstm"), [5 * 72 + 4 * 36] * 3)

    def test_what_the_direct_engine_does_not_train_is_refused_with_its_words(self):
        done = self.measure("{layers: [{conv2d: {out: 4, kernel: 3}}, {conv2d: {out: 4, kernel: 3, padding: 3}}, flatten, linear]}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("training.engine: the direct engine has no conv2d with padding not smaller than its kernel (layer 1)", done.stderr)
        self.assertFalse((self.folder / "out").exists())
