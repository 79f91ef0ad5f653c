"""Workloads agree with their descriptions, and fedhive accepts each of them."""
import json
import subprocess

import support
from bench import sides, workloads


class Workloads(support.TemporaryFolder):
    def fedhive(self, *arguments):
        return subprocess.run([support.BUILD / "fedhive", *arguments], capture_output=True, text=True, timeout=120, check=False)

    def test_each_has_a_size_for_each_client_and_a_cohort_that_fits(self):
        for work in workloads.training(support.ROOT):
            for each in (work, workloads.quick(work)):
                with self.subTest(each["id"]):
                    self.assertEqual(len(each["examples"]), each["clients"])
                    self.assertLessEqual(each["cohort"], each["clients"])
                    self.assertGreater(min(each["examples"]), 0)
        sizes = workloads.training(support.ROOT)[3]["examples"]
        self.assertEqual((min(sizes), max(sizes), len(sizes)), (10, 50, 1000))
        self.assertEqual(workloads.training(support.ROOT, gpu=True)[-1]["rounds"], 1500)

    def test_fedhive_makes_the_same_of_them(self):
        for work in workloads.training(support.ROOT):
            config, device = self.folder / f"{work['id']}.yaml", "cpu"
            config.write_text(workloads.to_yaml({**work, "root": str(support.ROOT / "data/mnist")}, device))
            with self.subTest(work["id"]):
                shown = self.fedhive("show-config", config)
                self.assertEqual(shown.returncode, 0, shown.stderr)
                for said in (f"rounds: {work['rounds']}\n", f"batch_size: {work['batch_size']}\n", f"cohort: {work['cohort']}\n", "workers: 2\n",
                             f"clients: {work['clients']}", f"lr: {work['lr']:g}", f"momentum: {work['momentum']:g}"):
                    self.assertIn(said, shown.stdout)
                if work["model"] in ("mnist_cnn", "cnn_m"):
                    self.assertIn(f"dropout: {str(work['dropout']).lower()}", shown.stdout)

    def test_shards_and_parameters_come_out_as_asked(self):
        for index in (1, 3, 4, 5):
            work = {**workloads.quick(workloads.training(support.ROOT)[index]), "rounds": 1}
            config, run = self.folder / "c.yaml", self.folder / work["id"]
            config.write_text(workloads.to_yaml(work))
            done = self.fedhive("run", config, "--out", run, "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            table = [row.split(",") for row in (run / "partition.csv").read_text().splitlines()]
            column = table[0].index("num_examples") if "num_examples" in table[0] else None
            sizes = [int(row[column]) if column is not None else sum(map(int, row[1:])) for row in table[1:]]
            self.assertEqual(sizes, work["examples"])
            self.assertEqual(json.loads((run / "manifest.json").read_text())["num_parameters"], workloads.parameters(work))

    def test_both_sides_train_the_same_deeper_networks(self):
        for work in workloads.training(support.ROOT):
            if not work["network"]:
                continue
            work = {**work, "clients": 1, "examples": [80], "cohort": 1, "rounds": 1, "batch_size": 80}
            config, file, run = self.folder / "c.yaml", self.folder / "c.json", self.folder / work["id"]
            config.write_text(workloads.to_yaml(work))
            file.write_text(json.dumps(work))
            workloads.write_data(work, self.folder)
            with self.subTest(work["id"]):
                done = self.fedhive("run", config, "--out", run, "--quiet")
                self.assertEqual(done.returncode, 0, done.stderr)
                manifest = json.loads((run / "manifest.json").read_text())
                size = subprocess.run([support.BUILD / "ideal_loop", "size", file], capture_output=True, text=True, check=True).stdout
                self.assertEqual((manifest["engine"], manifest["num_parameters"]), ("direct", int(size)))

    def test_keys_a_program_does_not_know_are_found_out(self):
        reference = self.fedhive("reference").stdout
        found = {side.name: side for side in sides.make_sides(support.BUILD, False, [])[0]}
        self.assertEqual(found["fedhive batched"].missing, "`clients_at_once`" not in reference)
        self.assertFalse(found["fedhive"].missing)
        self.assertEqual([name for name in found if "ideal" in name], ["ideal loop, 1 process", "ideal loop, 2 processes"])
        lr, cnn = workloads.training(support.ROOT)[3], workloads.training(support.ROOT)[1]
        self.assertEqual([found["fedhive batched"].supports(work) for work in (lr, cnn)], [True, False])

    def test_on_a_gpu_every_model_is_trained_in_all_forms(self):
        known, reference = sides.make_sides(support.BUILD, True, [])
        found = {side.name: side for side in known}
        self.assertEqual(list(found), ["fedhive", "fedhive libtorch", "fedhive batched", "fedhive graph", "fedhive graph batched",
                                       "ideal loop, eager", "ideal loop, graph"])
        self.assertIn(reference, found)
        cnn, w4 = workloads.training(support.ROOT, gpu=True)[1], workloads.training(support.ROOT, gpu=True)[5]
        for name, together in (("fedhive", 1), ("fedhive batched", 64), ("fedhive graph", 1), ("fedhive graph batched", 64)):
            side, config = found[name], self.folder / "gpu.yaml"
            self.assertTrue(side.supports(cnn))
            config.write_text(workloads.to_yaml(w4, "cpu", side.settings_for(w4)))
            shown = self.fedhive("show-config", config).stdout
            self.assertIn(f"clients_at_once: {together}", shown)
            self.assertIn(f"graph: {str('graph' in name).lower()}", shown)
            self.assertEqual(side.settings_for(cnn).get("clients_at_once", 1), min(together, 16))
