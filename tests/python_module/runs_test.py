#!/usr/bin/env python3
"""Tests of fh.run, fh.open, fh.sweep, fh.validate and of the tables: real runs of the program, seconds each.

usage: runs_test.py [TestCase.test_name …]     the program is $FEDHIVE_PROGRAM or build/release/fedhive
"""
import json
import os
import re
import struct
import subprocess
import sys
import unittest
import unittest.mock
import warnings
from pathlib import Path

from support import CONFIG, LIBRARY, InFolder, needs, python_path, root  # first: it says where fedhive is

import fedhive as fh
from fedhive import config_text, objects, places, program, tables


class Runs(InFolder):
    def test_a_dict_is_run_and_its_folder_has_the_result(self):
        run = fh.run(CONFIG, out="one")
        self.assertEqual((run.folder, run.status, run.manifest["round"]), (self.folder / "one", "finished", 2))
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["one"])
        self.assertRegex(repr(run), r"^Run\('.*/one', finished, round 2, test_loss [\d.]+, test_accuracy [\d.]+")

    def test_a_file_and_a_dict_give_the_same_model(self):
        Path("file.yaml").write_text(json.dumps({**CONFIG, "name": "run"}), encoding="utf-8")
        self.assertEqual(*(fh.run(config, out=out).manifest["model_sha256"] for config, out in ((CONFIG, "a"), ("file.yaml", "b"))))

    def test_without_out_the_program_names_the_folder(self):
        run = fh.run({**CONFIG, "name": "named"})
        self.assertEqual(run.folder.parent, self.folder / "results/runs")
        self.assertTrue(run.folder.name.startswith("named-"))

    def test_changes_in_all_forms_reach_the_config(self):
        run = fh.run({**CONFIG, "training.batch_size": 8, "data": {**CONFIG["data"], "partition.clients": 3}}, out="one", rounds=1,
                     set={"training.cohort": 2, "strategy.proximal_mu": 0.25}, strategy="fedprox", **{"training.optimizer.lr": 1e-05})
        config = run.config
        self.assertEqual((config["rounds"], config["training"]["cohort"], config["training"]["batch_size"], config["data"]["partition"]["clients"]),
                         (1, 2, 8, 3))
        self.assertEqual((config["training"]["optimizer"]["lr"], config["strategy"]["name"], config["strategy"]["proximal_mu"]),
                         (1e-05, "fedprox", 0.25))

    def test_a_section_is_changed_before_its_keys(self):
        run = fh.run(CONFIG, out="one", set={"training.cohort": 2, "training": {"batch_size": 8}})
        self.assertEqual((run.config["training"]["cohort"], run.config["training"]["batch_size"]), (2, 8))

    def test_a_method_file_is_named_by_its_path(self):
        Path("pull.py").write_text('import fedhive as fh\nmu = fh.key("mu", 0.01)\n\n@fh.gradient\ndef gradient(g, w, w_t):\n'
                                   "    return g + mu * (w - w_t)\n", encoding="utf-8")
        run = fh.run(CONFIG, out="one", strategy="pull.py", **{"strategy.mu": 0.5})
        self.assertEqual(run.config["strategy"]["mu"], 0.5)
        self.assertTrue((run.folder / "method.py").is_file())

    def test_paths_in_a_dict_are_relative_to_the_current_folder(self):
        first = fh.run(CONFIG, out="one")
        run = fh.run({**CONFIG, "model": {"name": "lr", "init": "one/model.safetensors"}}, out="two")
        self.assertEqual(run.config["model"]["init"], str(first.folder / "model.safetensors"))

    def test_resume_goes_on_to_more_rounds(self):
        run = fh.run(CONFIG, out="one")
        self.assertIs(run.resume(rounds=3), run)
        self.assertEqual((run.manifest["round"], run.manifest["exit_status"]), (3, "finished"))
        self.assertEqual(run.manifest["model_sha256"], fh.run(CONFIG, out="two", rounds=3).manifest["model_sha256"])
        with self.assertRaises(fh.ConfigError) as caught:
            run.resume(set={"seed": 7})
        self.assertIn("seed: 1 -> 7", str(caught.exception))

    def test_open_finds_runs_and_sweeps(self):
        fh.run(CONFIG, out="one")
        self.assertIsInstance(fh.open("one"), fh.Run)
        with self.assertRaisesRegex(FileNotFoundError, "no config.yaml and no sweep.json"):
            fh.open(self.folder)

    def test_warnings_of_the_program_are_warnings_of_python(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = fh.run(CONFIG, out="one", set={"data.root_examples": 10})
        self.assertEqual([str(warning.message) for warning in caught], run.manifest["warnings"])
        self.assertEqual([warning.filename for warning in caught], [__file__])

    def test_report_is_asked_for_by_the_folder(self):
        run = fh.run(CONFIG, out="one")
        Path("fake").write_text('#!/bin/sh\necho "$@" > arguments\n', encoding="utf-8")
        os.chmod("fake", 0o755)
        with unittest.mock.patch.dict(os.environ, FEDHIVE_PROGRAM="./fake"):
            self.assertEqual(run.report("--no-figures"), run.folder / "report.html")
        self.assertEqual(Path("arguments").read_text(encoding="utf-8"), f"report {run.folder} --no-figures\n")

    @needs("numpy")
    def test_the_model_is_the_bytes_of_its_file(self):
        run = fh.run(CONFIG, out="one")
        content = (run.folder / "model.safetensors").read_bytes()
        start = 8 + struct.unpack("<Q", content[:8])[0]
        head = json.loads(content[8:start])
        state = run.state_dict()
        self.assertEqual(set(state), set(head) - {"__metadata__"})
        self.assertEqual((state["linear.weight"].shape, state["linear.weight"].dtype.name), ((10, 784), "float32"))
        for name, array in state.items():
            begin, end = head[name]["data_offsets"]
            self.assertEqual(array.tobytes(), content[start + begin:start + end])
            array += 1  # may be written to

    @needs("tqdm")
    def test_progress_counts_rounds_and_runs(self):
        program_of = "import fedhive as fh, sys\nfh.%s(%r, out=%r, progress=%s)"
        for progress, expected in ("True", "2/2"), ("None", ""), ("False", ""):
            said = subprocess.run([sys.executable, "-c", program_of % ("run", CONFIG, f"run-{progress}", progress)], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": python_path("tqdm")}, check=True)
            self.assertIn(expected, said.stderr)
            self.assertEqual((said.stdout, bool(said.stderr)), ("", bool(expected)))
        sweep = {"base": CONFIG, "seeds": 3}
        said = subprocess.run([sys.executable, "-c", program_of % ("sweep", sweep, "sweep", True)], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": python_path("tqdm")}, check=True)
        self.assertIn("3/3", said.stderr)


class Errors(InFolder):
    def refused(self, *config, start=fh.run, **given):
        with self.assertRaises(fh.ConfigError) as caught:
            start(*config, **given)
        return caught.exception

    def test_a_file_is_blamed_by_file_line_and_key(self):
        Path("bad.yaml").write_text("data: {format: glyphs}\nmodel: {name: lr}\nrounds: many\ntraining: {cohorts: 1}\n", encoding="utf-8")
        for start in fh.run, fh.validate:
            error = self.refused("bad.yaml", start=start)
            self.assertEqual((error.file, error.line, error.key), (str(self.folder / "bad.yaml"), 3, "rounds"))
            self.assertEqual([(mistake.line, mistake.key) for mistake in error.mistakes], [(3, "rounds"), (4, "training.cohorts")])
            self.assertIn("bad.yaml:3: rounds: expected an integer, found 'many'; allowed: 1 to 1e9", str(error))

    def test_a_dict_is_blamed_as_config_by_its_key(self):
        for start in fh.run, fh.validate:
            error = self.refused({**CONFIG, "rounds": "many", "training": {"cohorts": 1}}, start=start)
            self.assertEqual((error.file, error.line, error.key), ("config", None, "rounds"))
            self.assertEqual([mistake.key for mistake in error.mistakes], ["rounds", "training.cohorts"])
            self.assertTrue(str(error).startswith("config: rounds: expected an integer"), error)
        self.assertEqual(self.refused({"data": {"format": "glyphs"}}).key, "model.name")
        self.assertEqual(list(self.folder.rglob("*.yaml")), [])

    def test_a_change_is_blamed_by_its_key_alone(self):
        error = self.refused(CONFIG, set={"strategy.name": "fed: avg"})
        self.assertEqual((error.file, error.line, error.key), (None, None, "strategy.name"))
        self.assertTrue(str(error).startswith("strategy.name: "), error)

    def test_what_cannot_stand_in_a_config_is_named(self):
        for given, key in (({"rounds": object()}, "rounds"), ({"training": {"optimizer": {"lr": {0.1}}}}, "training.optimizer.lr"),
                           ({"faults": [{"kind": "throw"}, {"round": Path}]}, "faults[1].round")):
            error = self.refused({**CONFIG, **given})
            self.assertEqual((error.file, error.key), ("config", key))
            self.assertTrue(str(error).startswith(f"config: {key}: "), error)
        self.assertEqual(self.refused(CONFIG, rounds=object()).key, "rounds")
        self.assertEqual(self.refused(CONFIG, set={"training": {"cohort": object()}}).key, "training.cohort")
        self.assertEqual(self.refused(CONFIG, set={"name": "x" * 140000}).key, "name")

    def test_arguments_of_another_kind_are_named(self):
        for given, key in ((None, "config"), (3, "config")):
            for start in fh.run, fh.validate, fh.sweep:
                self.assertEqual(self.refused(given, start=start).key, key)
        self.assertEqual(self.refused({"base": 3}, start=fh.sweep).key, "base")
        self.assertEqual(self.refused(CONFIG, set="rounds=3").key, "set")
        self.assertEqual(self.refused(CONFIG, on_round="print").key, "on_round")
        self.assertEqual(self.refused({"base": CONFIG, "seeds": 1}, start=fh.sweep, jobs=-1).key, "jobs")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_busy_folder_stays(self):
        def meanwhile(row):
            said.extend(str(self.refused(CONFIG, out="one", overwrite=overwrite)) for overwrite in (False, True))
            said.append(repr(fh.open("one")))
            raise InterruptedError

        said = []
        with self.assertRaises(InterruptedError):
            fh.run(CONFIG, out="one", rounds=30000, on_round=meanwhile)
        self.assertEqual(fh.open("one").config["rounds"], 30000)
        self.assertIn("another run is using this folder", said[1])
        self.assertRegex(said[2], r"one', running, round [1-9]\d*, test_loss ")

    def test_a_folder_that_is_not_empty_stays(self):
        fh.run(CONFIG, out="one")
        error = self.refused(CONFIG, out="one", rounds=1)
        self.assertIn(f"overwrite=True to replace the run in it, or resume that run: fh.open('{self.folder}/one').resume()", str(error))
        self.assertEqual(error.key, "out")
        self.assertEqual(fh.open("one").manifest["round"], 2)
        self.assertEqual(fh.run(CONFIG, out="one", rounds=1, overwrite=True).manifest["round"], 1)

    def test_a_failure_of_the_run_is_another_error_and_names_the_folder(self):
        with self.assertRaises(fh.RunError) as caught:
            fh.run(CONFIG, out="one", faults=[{"kind": "throw", "client": 1, "round": 1}], set={"failures.attempts": 1})
        self.assertRegex(str(caught.exception), "client 1")
        self.assertTrue(fh.open(caught.exception.folder).status.startswith("failed"))

    def test_a_sweep_is_blamed_by_its_key(self):
        error = self.refused({"base": CONFIG, "grid": {"training.optimizer.lr": [0.1, "fast"]}}, start=fh.sweep)
        self.assertEqual((error.file, error.line, error.key), ("sweep", None, "training.optimizer.lr"))
        self.assertEqual(self.refused({"base": {**CONFIG, "rounds": "many"}, "seeds": 2}, start=fh.sweep).file, "base")
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertEqual(self.refused({"seeds": 2}, start=fh.sweep).key, "base")

    def test_a_program_that_is_missing_is_told(self):
        with unittest.mock.patch.dict(os.environ, FEDHIVE_PROGRAM="/nowhere/fedhive"):
            with self.assertRaisesRegex(FileNotFoundError, "FEDHIVE_PROGRAM=/nowhere/fedhive"):
                fh.run(CONFIG, out="one")
        with unittest.mock.patch.dict(os.environ, PATH="/nowhere"), unittest.mock.patch.object(program, "_BUILT", Path("/nowhere/fedhive")):
            os.environ.pop("FEDHIVE_PROGRAM", None)
            with self.assertRaisesRegex(FileNotFoundError, "is not built, and the PATH has none"):
                fh.run(CONFIG, out="one")


class Sweeps(InFolder):
    def test_a_sweep_that_fails_says_why(self):
        with self.assertRaises(fh.RunError) as caught:
            fh.sweep({"base": {**CONFIG, "failures": {"attempts": 1}}, "cases": [{"name": "a"}, {"name": "b", "faults": [
                {"kind": "throw", "client": 1, "round": 1}]}]}, out="sweep")
        self.assertEqual((caught.exception.key, caught.exception.folder), (None, self.folder / "sweep"))
        self.assertRegex(str(caught.exception), r"go on with: fh\.open\('.*sweep'\)\.resume\(\)\nb: worker 0 \(client 1, round 1\) exception: injected")

    def test_runs_of_a_sweep_are_runs(self):
        sweep = fh.sweep({"base": CONFIG, "grid": {"training.optimizer.lr": [1e-05, 0.1]}}, out="sweep", rounds=1)
        self.assertEqual(list(sweep.runs), ["lr-1e-05", "lr-0.1"])
        self.assertEqual([run.config["training"]["optimizer"]["lr"] for run in sweep.runs.values()], [1e-05, 0.1])
        self.assertEqual([run.manifest["round"] for run in sweep.runs.values()], [1, 1])
        self.assertRegex(repr(sweep), r"^Sweep\('.*/sweep', finished, 2 of 2 runs\)$")
        self.assertIsInstance(fh.open("sweep"), fh.Sweep)
        self.assertEqual(fh.open("sweep").resume().manifest["exit_status"], "finished")

    @needs("pandas")
    def test_the_summary_is_typed(self):
        summary = fh.sweep({"base": CONFIG, "cases": [{"name": "NA", "model": {"name": "mlp", "hidden": 4}}, {"name": "b"}]}, out="sweep").summary
        self.assertEqual(summary["case"].tolist(), ["NA", "b"])
        self.assertEqual(summary.dtypes[["rounds_done", "seed", "final_test_accuracy"]].astype(str).tolist(), ["int64", "int64", "float64"])
        self.assertTrue(summary["rounds_to_target"].isna().all())

    def test_paths_in_a_sweep_are_made_absolute(self):
        found = objects.with_absolute_paths_of_sweep({"set": {"model.init": "a"}, "grid": {"strategy": [{"name": "b"}, {"file": "c.py"}]},
                                                      "random": {"draw": {"model.file": {"choice": ["d", "e"]}}}})
        here = str(self.folder)
        self.assertEqual(found, {"set": {"model.init": f"{here}/a"}, "grid": {"strategy": [{"name": "b"}, {"file": f"{here}/c.py"}]},
                                 "random": {"draw": {"model.file": {"choice": [f"{here}/d", f"{here}/e"]}}}})


class Tables(InFolder):
    @needs("pandas")
    def test_tables_of_a_run_are_typed(self):
        run = fh.run(CONFIG, out="one", faults=[{"kind": "throw", "client": 1, "round": 1, "attempts": "all"}],
                     failures={"policy": "drop", "attempts": 1}, evaluation={"every": 2})
        rounds, clients = run.rounds, run.clients
        self.assertEqual((len(rounds), len(clients)), (2, 8))
        self.assertEqual(rounds.dtypes[["round", "bytes_up", "train_loss", "virtual_s"]].astype(str).tolist(), ["int64", "int64", "float64", "float64"])
        self.assertTrue(rounds["test_accuracy"].isna().tolist() == [True, False])
        self.assertEqual(clients["steps"].dtype.name, "Int64")
        lost = clients[clients["failure"].notna()]
        self.assertEqual((lost["client_id"].tolist(), lost["steps"].isna().tolist()), ([1], [True]))
        self.assertEqual(clients["update_hash"].dropna().str.len().unique().tolist(), [16])
        lines = (run.folder / "rounds.csv").read_text(encoding="utf-8").splitlines()
        place = lines[0].split(",").index("train_loss")
        self.assertEqual(rounds["train_loss"].tolist(), [float(line.split(",")[place]) for line in lines[1:]])
        self.assertEqual(run.partition["num_examples"].tolist(), [50] * 4)
        self.assertEqual(run.arrivals.shape, (0, 2))
        with self.assertRaisesRegex(FileNotFoundError, "no fairness.csv"):
            run.fairness

    @needs("pandas")
    def test_texts_stay_texts_and_half_a_line_is_left_out(self):
        Path("clients.csv").write_text('round,owner,update_hash,train_loss,steps\n1,NA,1234567890123456,nan,3\n2,"a, b",,inf,\n3,nu', encoding="utf-8")
        table = tables.read_table(Path("clients.csv"))
        self.assertEqual((table["owner"].tolist(), table["round"].tolist()), (["NA", "a, b"], [1, 2]))
        self.assertEqual((table["update_hash"][0], str(table["train_loss"].tolist())), ("1234567890123456", "[nan, inf]"))

    def test_each_column_of_the_program_has_the_kind_that_it_should(self):
        described = json.loads(program.call(["columns", "--json"]).output)
        whole = {"from 0", "from 1", "clients", "examples", "bytes", "local steps"}
        for table, columns in described.items():
            for column in columns:
                with self.subTest(f"{table} {column['name']}"):
                    kind = tables.kind_of(column["name"])
                    self.assertEqual(kind == "string", column["text"])
                    if column["unit"] in whole:
                        self.assertEqual(kind, "Int64")

    def test_the_paths_of_a_config_are_those_of_the_reference(self):
        section, found = "", set()
        for line in program.call(["reference"]).output.splitlines():
            section = line.lstrip("# ") if line.startswith("##") else section
            key = re.match(r"\| `(\w+)` \| path \|", line)
            if key:
                found.add(key[1] if section == "Top level" else f"{section}.{key[1]}")
        self.assertEqual(found, objects.PATHS)

    def test_names_that_a_method_file_may_not_declare_are_those_of_the_program(self):
        section = program.call(["reference"]).output.split("\n## strategy\n")[1].split("\n## ")[0]
        always = {key for key, rest in re.findall(r"^\| `(\w+)` \|(.*)", section, re.MULTILINE) if "*Only with" not in rest}
        self.assertEqual(always, places.SECTION_KEYS)
        columns = json.loads(program.call(["columns", "--json"]).output)["clients.csv"]
        self.assertEqual({column["name"] for column in columns}, places.CLIENT_COLUMNS)

    def test_a_missing_package_is_told(self):
        with unittest.mock.patch.dict(sys.modules, pandas=None, numpy=None):
            with self.assertRaisesRegex(ImportError, "pip install pandas"):
                tables.read_table(Path("rounds.csv"))
            with self.assertRaisesRegex(ImportError, "pip install numpy"):
                tables.read_tensors(Path("model.safetensors"))

    def test_the_configs_that_the_program_writes_are_read(self):
        config = config_text.read(program.call(["show-config", str(root / "configs/layers.yaml")]).output)
        self.assertIsInstance(config["model"]["layers"], list)
        text = 'a: 1e-05\nmps: off\n\nb:\n    c: {d: [1, -2.5, x], e: "q: \\"a\\", [\\x0a]"}\n    f:\n        - {g: true}\n        - {g: null}\nh: {}\n'
        self.assertEqual(config_text.read(text), {"a": 1e-05, "mps": "off", "b": {"c": {"d": [1, -2.5, "x"], "e": 'q: "a", [\n]'},
                                                                                 "f": [{"g": True}, {"g": None}]}, "h": {}})

    def test_every_config_of_the_repository_is_read_as_json_says(self):
        for path in sorted((root / "configs").glob("*.yaml")):
            ended = program.call(["show-config", str(path)])
            if ended.status == 0:
                with self.subTest(path.name):
                    again = json.dumps(config_text.read(ended.output))
                    Path("again.yaml").write_text(again, encoding="utf-8")
                    self.assertEqual(program.call(["show-config", "again.yaml"]).output, ended.output)


class Import(unittest.TestCase):
    def test_import_loads_nothing_that_only_runs_need(self):
        told = subprocess.run([sys.executable, "-c", "import sys, fedhive; print(sorted(set(sys.modules) & {'numpy', 'pandas', 'tqdm', 'torch', 'ctypes', "
                               "'subprocess', 'fedhive.runs'}))"], capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": LIBRARY})
        self.assertEqual(told.stdout, "[]\n")


if __name__ == "__main__":
    unittest.main()
