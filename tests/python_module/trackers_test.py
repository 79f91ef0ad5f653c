#!/usr/bin/env python3
"""Tests of on_round and log_to. Those of a tracker need its package and skip where it is missing: pip install mlflow wandb tensorboardX.

usage: trackers_test.py [TestCase.test_name …]
"""
import json
import os
import signal
import tempfile
import threading
import unittest
import unittest.mock
import warnings
from datetime import datetime
from pathlib import Path

from support import CONFIG, LONG, MARK, InFolder, marked, needs, wait_until  # first: it says where fedhive is

import fedhive as fh
from fedhive import trackers, watch

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

HEADER = "round,train_loss,test_accuracy\n"


class Stop(Exception):
    pass


class Noted:
    """A tracker that notes what it gets."""
    package = "json"
    fails_at = None

    def __init__(self, run, name=""):
        Noted.last, self.where = self, name
        self.status, self.rows, self.closed = run.status, [], None

    def add(self, rows):
        if self.fails_at and rows[-1]["round"] >= self.fails_at:
            raise OSError("disk full")
        self.rows += rows

    def close(self, status):
        self.closed = status


class Broken(Noted):
    def __init__(self, run):
        raise OSError("no such server")


class OnRound(InFolder):
    def setUp(self):
        super().setUp()
        patch = unittest.mock.patch.dict(trackers._TRACKERS, noted=Noted)
        patch.start()
        self.addCleanup(patch.stop)

    def test_a_function_gets_each_row_while_the_run_goes_on(self):
        seen = []
        run = fh.run(CONFIG, out="one", rounds=3, set={"evaluation.every": 2}, on_round=lambda row: seen.append((row, fh.open("one").config["rounds"])))
        lines = (run.folder / "rounds.csv").read_text(encoding="utf-8").splitlines()
        columns = lines[0].split(",")
        self.assertEqual([list(row) for row, _ in seen], [columns] * 3)
        self.assertEqual([row["round"] for row, _ in seen], [1, 2, 3])
        self.assertEqual([row["train_loss"] for row, _ in seen], [float(line.split(",")[columns.index("train_loss")]) for line in lines[1:]])
        self.assertEqual([type(row["test_accuracy"]) for row, _ in seen], [type(None), float, float])
        self.assertEqual([rounds for _, rounds in seen], [3] * 3)

    def test_what_the_function_raises_ends_the_run_in_order(self):
        def stop(row):
            if row["round"] >= 3:
                raise Stop

        mark = f"{os.getpid()}-on-round"
        with unittest.mock.patch.dict(os.environ, {MARK: mark}), self.assertRaises(Stop):
            fh.run(LONG, out="one", on_round=stop, log_to="noted")
        self.assertEqual(marked(mark), {})
        self.assertEqual(fh.open("one").status, "interrupted by SIGINT")
        self.assertEqual((Noted.last.status, Noted.last.closed), ("running", "interrupted by SIGINT"))
        self.assertEqual([row["round"] for row in Noted.last.rows], list(range(1, len(fh.open("one").folder.joinpath("rounds.csv").read_bytes().splitlines()))))

    def test_a_resume_hands_on_the_rounds_before_it_too(self):
        run, seen = fh.run(CONFIG, out="one"), []
        run.resume(rounds=4, on_round=lambda row: seen.append(row["round"]), log_to="noted")
        self.assertEqual((seen, [row["round"] for row in Noted.last.rows], Noted.last.closed), ([1, 2, 3, 4], [1, 2, 3, 4], "finished"))

    def test_a_tracker_that_fails_is_a_warning_and_the_run_goes_on(self):
        with unittest.mock.patch.object(Noted, "fails_at", 2), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = fh.run(CONFIG, out="one", rounds=3, log_to="noted")
            with self.assertRaisesRegex(OSError, "disk full"):
                run.log_to("noted")
        self.assertEqual((run.status, Noted.last.closed), ("finished", None))
        self.assertIn("Noted does not get this run any more: OSError: disk full", str(caught[0].message))
        self.assertEqual(len(caught), 1)

    def test_a_tracker_that_cannot_begin_ends_the_run(self):
        mark = f"{os.getpid()}-cannot-begin"
        with unittest.mock.patch.dict(os.environ, {MARK: mark}), unittest.mock.patch.dict(trackers._TRACKERS, broken=Broken):
            with self.assertRaisesRegex(OSError, "no such server"):
                fh.run(CONFIG, out="one", rounds=30000, log_to=["noted", "broken"])
        self.assertEqual(marked(mark), {})
        self.assertEqual((fh.open("one").status, Noted.last.closed), ("interrupted by SIGINT", "interrupted by SIGINT"))

    def test_a_run_that_goes_on_is_followed_to_its_end(self):
        begun, failed = threading.Event(), []

        def hold(row):
            if row["round"] > 2000 and begun.wait(60):
                raise Stop

        def start():
            try:
                fh.run(LONG, out="one", on_round=hold)
            except Stop as error:
                failed.append(error)

        thread = threading.Thread(target=start)
        thread.start()
        try:
            self.assertTrue(wait_until(lambda: len((self.folder / "one/rounds.csv").read_bytes().splitlines()) > 2 if
                                       (self.folder / "one/rounds.csv").is_file() else False))
            with unittest.mock.patch.object(Noted, "add", lambda self, rows: (self.rows.extend(rows), begun.set())), \
                    unittest.mock.patch.object(watch, "_EVERY_S", 0.05):
                self.assertEqual(fh.open("one").log_to("noted", name="here"), "here")
        finally:
            begun.set()
            thread.join()
        self.assertEqual((len(failed), Noted.last.status, Noted.last.closed), (1, "running", "interrupted by SIGINT"))
        last = int((self.folder / "one/rounds.csv").read_text(encoding="utf-8").splitlines()[-1].split(",")[0])
        self.assertEqual([row["round"] for row in Noted.last.rows], list(range(1, last + 1)))

    def test_a_killed_run_is_called_killed_and_not_waited_for(self):
        mark = f"{os.getpid()}-killed-run"

        def kill(row):
            for pid in [pid for pid in marked(mark) if os.getpgid(pid) == pid]:
                os.kill(pid, signal.SIGKILL)

        with unittest.mock.patch.dict(os.environ, {MARK: mark}), self.assertRaises(fh.RunError):
            fh.run(LONG, out="one", on_round=kill)
        run = fh.open("one")
        self.assertEqual((run.manifest["exit_status"], run.status), ("running", "killed"))
        self.assertIn("one', killed", repr(run))
        run.log_to("noted")
        self.assertEqual(Noted.last.closed, "killed")

    def test_what_nobody_can_log_to_is_refused_before_a_run(self):
        for given, key, text in (("mlfow", "log_to", "there is no tracker 'mlfow'; allowed: mlflow, wandb, tensorboard"),
                                 ({"noted": {"nam": 1}}, "log_to.noted", "'nam'; allowed: name"), (["noted", 3], "log_to", "there is no tracker 3"),
                                 (3, "log_to", "expected a name, a list of names or {name: options}; found a int"),
                                 ({"noted": 3}, "log_to.noted", "expected options as a dict; found a int")):
            with self.subTest(given), self.assertRaises(fh.ConfigError) as caught:
                fh.run(CONFIG, out="one", log_to=given)
            self.assertEqual(caught.exception.key, key)
            self.assertIn(text, str(caught.exception))
        with unittest.mock.patch.object(Noted, "package", "no_such_package"), self.assertRaisesRegex(ImportError, "pip install no_such_package"):
            fh.run(CONFIG, out="one", log_to="noted")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_rounds_that_a_resume_took_back_are_handed_on_once(self):
        file, rows = self.folder / "rounds.csv", watch.NewRows(self.folder)
        found = []
        for text in "", "round,train", HEADER + "1,0.5,\n2,nan,0.25\n3,0.", HEADER + "1,0.5,\n", HEADER + "1,0.5,\n2,nan,0.25\n3,0.125,1\n":
            file.write_text(text, encoding="utf-8")
            found.append([tuple(row.values()) for row in rows.read()])
        self.assertEqual(str(found), str([[], [], [(1, 0.5, None), (2, float("nan"), 0.25)], [], [(3, 0.125, 1.0)]]))


@needs("tensorboardX")
class TensorBoard(InFolder):
    def scalars(self, folder, tag):
        from tensorboardX.proto.event_pb2 import Event
        file, = folder.glob("events.out.tfevents.*")
        content, at, found = file.read_bytes(), 0, []
        while at < len(content):  # a record: length, checksum, data, checksum
            length = int.from_bytes(content[at:at + 8], "little")
            event = Event()
            event.ParseFromString(content[at + 12:at + 12 + length])
            found += [(event.step, value.simple_value) for value in event.summary.value if value.tag == tag]
            at += 16 + length
        return found

    def rounds(self, run, column):
        lines = [line.split(",") for line in (run.folder / "rounds.csv").read_text(encoding="utf-8").splitlines()]
        return [(int(line[0]), float(line[lines[0].index(column)])) for line in lines[1:]]

    def test_scalars_are_those_of_the_rounds_live_and_afterwards(self):
        run = fh.run(CONFIG, out="one", log_to={"tensorboard": {"folder": "logs"}})
        self.assertEqual(run.log_to("tensorboard"), str(run.folder / "tensorboard/one"))
        for folder in self.folder / "logs/one", run.folder / "tensorboard/one":
            for tag, column in ("test/accuracy", "test_accuracy"), ("train/loss", "train_loss"):
                found, expected = self.scalars(folder, tag), self.rounds(run, column)
                self.assertEqual([step for step, _ in found], [number for number, _ in expected])
                for (_, value), (_, written) in zip(found, expected):
                    self.assertAlmostEqual(value, written, places=5)

    def test_a_run_with_event_files_is_resumed_and_replaced(self):
        run = fh.run(CONFIG, out="one", log_to="tensorboard")
        run.resume(rounds=3, log_to="tensorboard")
        self.assertEqual([step for step, _ in self.scalars(run.folder / "tensorboard/one", "train/loss")], [1, 2, 3])
        fh.run(CONFIG, out="one", rounds=1, overwrite=True, log_to="tensorboard")
        self.assertEqual([step for step, _ in self.scalars(run.folder / "tensorboard/one", "train/loss")], [1])

    def test_the_runs_of_a_sweep_have_a_folder_each(self):
        sweep = fh.sweep({"base": CONFIG, "seeds": 2}, out="sweep")
        places = sweep.log_to("tensorboard", folder="logs")
        self.assertEqual(places, {name: str(self.folder / "logs" / name) for name in sweep.runs})
        self.assertEqual({path.name for path in (self.folder / "logs").iterdir()}, set(sweep.runs))


@needs("mlflow")
class MLflow(InFolder):
    @classmethod
    def setUpClass(cls):
        from mlflow.tracking import MlflowClient
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)  # where MLflow puts its artifacts
        cls.uri = f"sqlite:///{folder.name}/mlflow.db"
        cls.client = MlflowClient(cls.uri)  # makes the database, which takes seconds

    def test_a_finished_run_has_metrics_parameters_tags_and_files(self):
        run = fh.run(CONFIG, out="one", set={"training.optimizer.lr": 1e-05})
        there = self.client.get_run(run.log_to("mlflow", tracking_uri=self.uri, experiment="test", tags={"who": "me"}))
        self.assertEqual((there.info.run_name, there.info.status), ("one", "FINISHED"))
        self.assertEqual((there.data.params["training.optimizer.lr"], there.data.params["rounds"]), ("1e-05", "2"))
        self.assertEqual({key: there.data.tags[key] for key in ("who", "fedhive.commit", "fedhive.model_sha256", "fedhive.folder")},
                         {"who": "me", "fedhive.commit": run.manifest["commit"], "fedhive.model_sha256": run.manifest["model_sha256"],
                          "fedhive.folder": str(run.folder)})
        history = self.client.get_metric_history(there.info.run_id, "test_accuracy")
        self.assertEqual([metric.step for metric in history], [1, 2])
        self.assertEqual(history[-1].value, run.manifest["test_accuracy"])
        wall_s = [row["wall_s"] for row in watch.NewRows(run.folder).read()]
        self.assertEqual([metric.timestamp for metric in history],
                         [round(there.info.start_time + 1000 * seconds) for seconds in (wall_s[0], wall_s[0] + wall_s[1])])
        self.assertGreaterEqual(there.info.end_time, history[-1].timestamp)
        self.assertEqual(there.info.start_time / 1000, datetime.fromisoformat(run.manifest["started"].replace("Z", "+00:00")).timestamp())
        names = {file.path for file in self.client.list_artifacts(there.info.run_id)}
        self.assertTrue({"rounds.csv", "clients.csv", "config.yaml", "manifest.json"} <= names, names)
        self.assertNotIn("model.safetensors", names)

    def test_a_run_that_is_stopped_is_logged_as_killed(self):
        def stop(row):
            if row["round"] >= 3:
                raise Stop

        with self.assertRaises(Stop):
            fh.run(LONG, out="one", on_round=stop, log_to={"mlflow": {"tracking_uri": self.uri}})
        there, = self.client.search_runs([self.client.get_experiment_by_name("fedhive").experiment_id])
        self.assertEqual((there.info.status, there.data.tags["fedhive.exit_status"]), ("KILLED", "interrupted by SIGINT"))
        self.assertGreaterEqual(len(self.client.get_metric_history(there.info.run_id, "train_loss")), 3)


@needs("wandb")
class Wandb(InFolder):
    def records(self):
        """Reads the file of an offline run: after 7 bytes, LevelDB's log of records. Blocks have 32 KiB; a part of a record has a checksum, its
        length and its kind (1 whole, 2 first, 3 middle, 4 last), and none begins in the last 6 bytes of a block."""
        from wandb.proto import wandb_internal_pb2
        file, = (self.folder / "wandb").glob("offline-run-*/*.wandb")
        content, at, found, part = file.read_bytes(), 7, [], b""
        while at + 7 <= len(content):
            if 32768 - at % 32768 < 7:
                at += 32768 - at % 32768
                continue
            length, kind = int.from_bytes(content[at + 4:at + 6], "little"), content[at + 6]
            part += content[at + 7:at + 7 + length]
            at += 7 + length
            if kind in (1, 4):
                record = wandb_internal_pb2.Record()
                record.ParseFromString(part)
                found.append(record)
                part = b""
        return found

    def test_a_live_run_is_written_offline(self):
        run = fh.run(CONFIG, out="one", log_to={"wandb": {"mode": "offline", "dir": str(self.folder), "config": {"mine": 7}}})
        records = self.records()
        rows = [{"".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item} for record in records
                if record.WhichOneof("record_type") == "history"]
        self.assertEqual([row["_step"] for row in rows], [1, 2])
        self.assertEqual(rows[-1]["test_accuracy"], run.manifest["test_accuracy"])
        begun = next(record.run for record in records if record.WhichOneof("record_type") == "run")
        config = {item.key: json.loads(item.value_json) for item in begun.config.update}
        self.assertEqual((begun.project, begun.display_name, config["rounds"], config["mine"], config["fedhive"]["commit"]),
                         ("fedhive", "one", 2, 7, run.manifest["commit"]))
        kept = next(record.artifact for record in records if record.WhichOneof("record_type") == "artifact" and record.artifact.type == "fedhive")
        self.assertTrue({"rounds.csv", "clients.csv", "config.yaml"} <= {entry.path for entry in kept.manifest.contents})
        self.assertEqual(next(record.exit.exit_code for record in records if record.WhichOneof("record_type") == "exit"), 0)


if __name__ == "__main__":
    unittest.main()
