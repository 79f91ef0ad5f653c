"""Results of load() for folders that are complete, torn, half-written, of active runs, or abandoned."""
import fcntl
import json
import os
import shutil
import signal
import unittest

import make_runs
import yaml
from fedhive.lock import lock_holder
from report.load import LoadError, load, short_keys
from report.page import config_text
from report.run import ConfigLoader, read_run
from support import TemporaryFolder


def within(seconds, work):
    """work(), which fails with TimeoutError if it takes longer."""
    def give_up(*_):
        raise TimeoutError(f"waited for {seconds} s")
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        return work()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


class OneRun(TemporaryFolder):
    def test_finished_run_is_read_whole(self):
        run = read_run(self.make(rounds=3, clients=2, seed=7), "a")
        self.assertEqual((run.status, run.problems, run.seed, run.planned_rounds), ("finished", [], 7, 3))
        self.assertEqual(list(run.rounds["round"]), [1, 2, 3])
        self.assertEqual(len(run.clients), 6)
        self.assertEqual(len(run.partition), 2)
        self.assertEqual(run.config["training"]["optimizer"]["lr"], 0.05)
        self.assertTrue(all(len(text) in (0, 16) for text in run.clients["update_hash"]))
        self.assertEqual(run.events[0]["event"], "started")

    def test_hash_of_digits_stays_text_and_no_failure_is_an_empty_text(self):
        folder = self.make(rounds=1, clients=1)
        (folder / "clients.csv").write_text("round,client_id,update_hash,failure\n1,0,0000000000000012,\n2,0,,late\n")
        clients = read_run(folder, "a").clients
        self.assertEqual(list(clients["update_hash"]), ["0000000000000012", ""])
        self.assertEqual(list(clients["failure"]), ["", "late"])

    def test_torn_lines_are_skipped_and_counted(self):
        folder = self.make(rounds=3)
        file = folder / "rounds.csv"
        whole = file.read_text().splitlines()
        # One is cut within its columns, one in its last number after all commas, one is short, one is overwritten with zeros
        # inside.
        for damaged, rounds in (("\n".join(whole)[:-40], [1, 2]), ("\n".join(whole), [1, 2]),
                                ("\n".join([*whole[:2], "2,2,4", *whole[3:]]) + "\n", [1, 3]),
                                ("\n".join([*whole[:2], "\0" * 30, *whole[3:]]) + "\n", [1, 3])):
            file.write_text(damaged)
            run = read_run(folder, "a")
            self.assertEqual(list(run.rounds["round"]), rounds)
            self.assertEqual(run.problems, ["rounds.csv: 1 torn line skipped"])

    def test_names_of_owners_are_read_whole(self):
        folder = self.make(rounds=1)
        names = ["Köln, Dom", 'the "Charité"', "007", "south"]
        for name in ("clients.csv", "partition.csv"):
            head, *rows = (folder / name).read_text().splitlines()
            cells = ['"' + name.replace('"', '""') + '"' if '"' in name or "," in name else name for name in names]
            (folder / name).write_text("\n".join([head + ",owner", *(f"{row},{cell}" for row, cell in zip(rows, cells))]) + "\n", encoding="utf-8")
        run = read_run(folder, "a")
        self.assertEqual(run.problems, [])
        self.assertEqual(list(run.clients["owner"]), names)
        self.assertEqual(list(run.partition["owner"]), names)
        self.assertEqual(list(run.partition["client_id"]), [0, 1, 2, 3])

    def test_words_where_numbers_belong_make_a_line_torn(self):
        folder = self.make(rounds=3)
        file = folder / "rounds.csv"
        whole = file.read_text()
        for word in ("zwei", '"', '2"'):
            file.write_text(whole.replace("\n2,2,4", f"\n2,{word},4"))
            run = read_run(folder, "a")
            self.assertEqual(list(run.rounds["version"]), [1, 3])
            self.assertEqual(run.problems, ["rounds.csv: 1 torn line skipped"])

    def test_each_manifest_has_its_status(self):
        for exit_status, status, reason in (("finished", "finished", ""), ("paused after round 2", "paused", "paused after round 2"),
                                            ("interrupted by SIGINT", "interrupted", "interrupted by SIGINT"),
                                            ("failed: no memory", "failed", "no memory"),
                                            ("dreaming", "damaged", "manifest.json has an unknown exit_status: dreaming")):
            run = read_run(self.make(status, exit_status, 2), "a")
            self.assertEqual((run.status, run.reason), (status, reason))

    def test_running_is_running_only_while_somebody_holds_the_lock(self):
        folder = self.make("run", "running", 2)
        self.assertEqual(read_run(folder, "a").status, "killed")
        with open(folder / ".lock", "w") as lock:
            self.assertEqual(read_run(folder, "a").status, "killed")
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertEqual(read_run(folder, "a").status, "running")
            self.assertGreater(lock_holder(folder), 0)

    def test_without_a_table_of_locks_it_says_that_it_does_not_know(self):
        folder = self.make("run", "running", 2)
        (folder / ".lock").touch()
        self.assertIsNone(lock_holder(folder, self.folder / "nowhere"))

    def test_what_is_missing_or_broken_is_a_problem_and_not_the_end(self):
        folder = self.make(rounds=2)
        (folder / "manifest.json").write_text('{"schema": 1, "exit')
        (folder / "clients.csv").unlink()
        (folder / "events.jsonl").write_text('{"event": "started"}\n{"event": "fail')
        (folder / "config.yaml").write_text("a: [1")
        run = read_run(folder, "a")
        self.assertEqual(run.status, "damaged")
        self.assertEqual((len(run.rounds), len(run.clients), len(run.events), run.config), (2, 0, 1, {}))
        said = "; ".join(run.problems)
        for part in ("manifest.json cannot be read", "config.yaml cannot be read", "events.jsonl: 1 torn line skipped"):
            self.assertIn(part, said)

    def test_finished_without_rows_is_damaged(self):
        folder = self.make(rounds=2)
        (folder / "rounds.csv").write_text("")
        run = read_run(folder, "a")
        self.assertEqual(run.status, "damaged")
        self.assertIn("rounds.csv: no whole line", run.problems)

    def test_finished_with_fewer_rows_than_the_manifest_says_is_damaged(self):
        folder = self.make(rounds=3)
        self.assertEqual(read_run(folder, "a").status, "finished")
        lines = (folder / "rounds.csv").read_text().splitlines(keepends=True)
        (folder / "rounds.csv").write_text("".join(lines[:-1]))
        run = read_run(folder, "a")
        self.assertEqual((run.status, run.reason),
                         ("damaged", "finished after 3 rounds, says manifest.json, but rounds.csv ends with round 2"))

    def test_what_is_no_regular_file_is_told_and_not_waited_for(self):
        for name in ("rounds.csv", "clients.csv", "partition.csv", "events.jsonl", "manifest.json", "config.yaml"):
            for kind, put in (("a pipe", os.mkfifo), ("a folder", os.mkdir), ("a device", lambda file: os.symlink("/dev/null", file))):
                folder = self.make(f"{name}-{kind[2:]}", rounds=2)
                (folder / name).unlink()
                put(folder / name)
                with self.subTest(name=name, kind=kind):
                    run = within(10, lambda: read_run(folder, "a"))
                    self.assertIn(f"{name} cannot be read: it is not a regular file but {kind}", run.problems)
                    within(10, lambda: config_text(run))
                    self.assertEqual(run.status, "damaged" if name in ("rounds.csv", "manifest.json") else "finished")

    def test_file_that_is_too_large_is_told_before_it_is_read(self):
        folder = self.make(rounds=2)
        os.truncate(folder / "clients.csv", 1 << 40)
        run = read_run(folder, "a")
        self.assertEqual(run.problems, ["clients.csv cannot be read: it has 1099511627776 bytes, 1073741824 at most can be read"])

    def test_run_of_an_older_version_loads_without_what_it_lacks(self):
        run = read_run(self.make(bare=True), "a")
        self.assertNotIn("started_s", run.clients)
        self.assertTrue(run.partition.empty)
        self.assertEqual((run.status, run.problems), ("finished", []))

    def test_numbers_and_words_are_those_of_the_program(self):
        found = yaml.load("a: 1e-05\nb: 1e3\nc: no\nd: true\ne: 2026-11-21\nf: 0.5", ConfigLoader)
        self.assertEqual(found, {"a": 1e-05, "b": 1000.0, "c": "no", "d": True, "e": "2026-11-21", "f": 0.5})


class Sweeps(TemporaryFolder):
    def test_runs_come_in_the_order_of_the_sweep_with_what_became_of_them(self):
        fates = list(make_runs.FATES)
        self.make_sweep(rates=(0.1, 0.05), alphas=(None, 0.5), seeds=2, fates=fates)
        report = load([self.folder / "sweep"])
        self.assertEqual(report.axes, ["training.optimizer.lr", "data.partition.scheme", "data.partition.alpha"])
        self.assertEqual([run.status for run in report.runs], ["finished", "stopped", "failed", "killed", "interrupted", "paused", "waiting",
                                                               "finished"])
        self.assertEqual(report.runs[0].label, "lr-0.1+scheme-iid+seed-1")
        self.assertEqual(report.runs[1].reason, "rank 7 of 9 after round 3")
        self.assertEqual([run.group for run in report.runs[:3]], ["lr=0.1,scheme=iid"] * 2 + ["lr=0.1,scheme=dirichlet,alpha=0.5"])
        waiting = report.runs[6]
        self.assertEqual((len(waiting.rounds), waiting.config["seed"], waiting.planned_rounds), (0, 1, 10))
        self.assertEqual(report.runs[3].problems, ["rounds.csv: 1 torn line skipped", "clients.csv: 1 torn line skipped"])

    def test_run_whose_folder_is_gone_is_damaged(self):
        self.make_sweep(rates=(0.1,), alphas=(None,), seeds=2)
        shutil.rmtree(self.folder / "sweep/runs/lr-0.1+scheme-iid+seed-2")
        self.assertEqual([run.status for run in load([self.folder / "sweep"]).runs], ["finished", "damaged"])

    def test_run_that_was_just_started_is_killed_unless_the_sweep_is_at_work(self):
        sweep = self.folder / "sweep"
        self.make_sweep(rates=(0.1,), alphas=(None,), seeds=1, fates=["waiting"])
        said = json.loads((sweep / "sweep.json").read_text())
        said["runs"][0]["status"] = "running"
        (sweep / "sweep.json").write_text(json.dumps(said))
        self.assertEqual(load([sweep]).runs[0].status, "killed")
        with open(sweep / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertEqual(load([sweep]).runs[0].status, "running")

    def change_sweep(self, change):
        """A sweep whose entries are changed by `change`, called with each run's number and entry."""
        shutil.rmtree(self.folder / "sweep", ignore_errors=True)
        sweep = self.make_sweep(rates=(0.1, 0.05), alphas=(None, 0.5), seeds=2, rounds=2, clients=2)
        said = json.loads((sweep / "sweep.json").read_text())
        for number, run in enumerate(said["runs"]):
            change(number, run)
        (sweep / "sweep.json").write_text(json.dumps(said))
        return sweep

    def test_case_with_a_name_stands_for_the_keys_that_it_decides(self):
        # Runs 0, 1, 4 and 5 have the scheme iid.
        report = load([self.change_sweep(lambda number, run: run.update(case="even" if number % 4 < 2 else "skewed, much"))])
        self.assertEqual(report.axes, ["case", "training.optimizer.lr"])
        self.assertEqual([run.group for run in report.runs[1:4]], ["even,lr=0.1", "skewed, much,lr=0.1", "skewed, much,lr=0.1"])
        self.assertEqual(report.runs[2].settings["case"], "skewed, much")
        self.assertEqual(report.runs[2].settings["data.partition.alpha"], "0.5")
        # If some runs have no case name, the names are not used.
        report = load([self.change_sweep(lambda number, run: run.update(case="even" if number % 4 < 2 else ""))])
        self.assertEqual(report.axes, ["case", "training.optimizer.lr", "data.partition.scheme", "data.partition.alpha"])

    def test_run_that_is_named_in_the_old_way_is_read(self):
        def rename(number, run):
            old = run["id"].replace("+", ",").replace("-", "=")
            (self.folder / "sweep/runs" / run["id"]).rename(self.folder / "sweep/runs" / old)
            run["id"] = old
        report = load([self.change_sweep(rename)])
        self.assertEqual(report.runs[0].label, "lr=0.1,scheme=iid,seed=1")
        self.assertEqual([run.status for run in report.runs], ["finished"] * 8)
        self.assertEqual([run.group for run in report.runs[:3]], ["lr=0.1,scheme=iid"] * 2 + ["lr=0.1,scheme=dirichlet,alpha=0.5"])

    def test_broken_sweep_json_is_refused(self):
        for text, said in (('{"runs": [', "sweep.json cannot be read"), ('{"runs": [{"seed": 1}]}', "it has no list of runs")):
            (self.folder / "sweep.json").write_text(text)
            with self.assertRaisesRegex(LoadError, f"sweep.json is no sweep: {said}"):
                load([self.folder])

    def test_ids_that_are_no_plain_names_are_refused_by_name(self):
        self.make_sweep(rates=(0.1,), alphas=(None,), seeds=1)
        file = self.folder / "sweep/sweep.json"
        said = json.loads(file.read_text())
        for name in ("../../outside", "/etc", "a/b", "..", ".", "", "a\nb", "a\0b", "x" * 300):
            said["runs"][0]["id"] = name
            file.write_text(json.dumps(said))
            with self.assertRaises(LoadError) as refused:
                load([self.folder / "sweep"])
            self.assertIn(f"{file}: id {name!r}: is no plain name", str(refused.exception))

    def test_seeds_that_vary_make_no_groups_and_cut_ids_no_others(self):
        self.make_sweep(rates=(0.1, 0.2), alphas=(None,), seeds=3)
        file = self.folder / "sweep/sweep.json"
        said = json.loads(file.read_text())
        said["keys"].append("seeds.model")
        for number, entry in enumerate(said["runs"]):
            entry["settings"]["seeds.model"] = str(number % 3 + 10)
            old, entry["id"] = entry["id"], f"cut-{number}"  # as for a run with many settings, whose id ends in a hash
            (self.folder / "sweep/runs" / old).rename(self.folder / "sweep/runs" / entry["id"])
        file.write_text(json.dumps(said))
        report = load([self.folder / "sweep"])
        self.assertEqual(report.axes, ["training.optimizer.lr", "data.partition.scheme", "data.partition.alpha"])
        self.assertEqual([run.group for run in report.runs], ["lr=0.1,scheme=iid"] * 3 + ["lr=0.2,scheme=iid"] * 3)
        self.assertEqual([run.seed_of("seeds.model") for run in report.runs], ["10", "11", "12"] * 2)
        self.assertEqual([run.seed_of("seeds.data") for run in report.runs], ["1", "2", "3"] * 2)

    def test_runs_shared_the_machine_where_their_times_overlap(self):
        self.make_sweep(rates=(0.1,), alphas=(None,), seeds=2)
        file = self.folder / "sweep/sweep.json"
        said = json.loads(file.read_text())
        self.assertTrue(load([self.folder / "sweep"]).packed)
        file.write_text(json.dumps(said | {"jobs": 1}))
        self.assertFalse(load([self.folder / "sweep"]).packed)
        first, second = self.make("a", seed=1), self.make("b", seed=2)
        self.assertTrue(load([first, second]).packed)
        for folder, start, end in ((first, "01:00:00", "01:05:00"), (second, "01:05:00", "01:09:00")):
            manifest = json.loads((folder / "manifest.json").read_text())
            (folder / "manifest.json").write_text(json.dumps(manifest | {"started": f"2026-11-21T{start}Z", "finished": f"2026-11-21T{end}Z"}))
        self.assertFalse(load([second, first]).packed)


class SeveralFolders(TemporaryFolder):
    def test_runs_that_differ_in_their_seed_are_one_group(self):
        report = load([self.make("a", seed=1), self.make("b", seed=2)])
        self.assertEqual((report.axes, report.sweep, report.title), ([], None, "made_up"))
        self.assertEqual([run.group for run in report.runs], ["made_up", "made_up"])
        self.assertEqual([run.label for run in report.runs], ["a", "b"])

    def test_keys_that_differ_are_axes_and_names_of_groups(self):
        report = load([self.make("a", lr=0.1), self.make("b", lr=0.1, seed=2), self.make("c", lr=0.5, mode="async")])
        self.assertEqual(report.axes, ["training.optimizer.lr", "mode.name"])
        self.assertEqual([run.group for run in report.runs], ["lr=0.1,mode=synchronous"] * 2 + ["lr=0.5,mode=async"])
        self.assertEqual(report.runs[2].settings, {"training.optimizer.lr": "0.5", "mode.name": "async"})

    def test_devices_are_a_difference(self):
        first, second = self.make("a"), self.make("b", seed=2)
        (first / "config.yaml").write_text((first / "config.yaml").read_text() + "devices: {compute: {sigma: 1}}\n")
        self.assertEqual(load([first, second]).axes, ["devices.compute.sigma"])

    def test_same_names_are_told_apart_by_the_folders_above(self):
        report = load([self.make("one/run"), self.make("two/run")])
        self.assertEqual([run.label for run in report.runs], ["one/run", "two/run"])

    def test_two_sweeps_and_a_run_go_together(self):
        for name in ("x", "y"):
            self.make_sweep(name, rates=(0.1,), alphas=(None,), seeds=2)
        report = load([self.folder / "x", self.folder / "y", self.make("z", workers=7)])
        self.assertEqual(len({run.label for run in report.runs}), 5)
        self.assertIsNone(report.sweep)
        self.assertNotIn("workers", report.axes)

    def test_runs_given_one_by_one_are_called_as_in_their_sweep(self):
        values = {(method, alpha): (0.5, 0.625) for method in ("FedAvg", "FedAdam") for alpha in (0.1, 0.5)}
        folder = self.make_methods(values)
        report = load(sorted((folder / "runs").glob("*alpha-0.5*")))
        self.assertEqual((report.axes, [run.group for run in report.runs], report.title), (["case"], ["FedAdam"] * 2 + ["FedAvg"] * 2, "methods"))
        report = load(sorted((folder / "runs").glob("*seed-1")))
        self.assertEqual((report.axes, report.runs[0].group), (["case", "data.partition.alpha"], "FedAdam,alpha=0.1"))
        report = load([folder / "runs/FedAvg+alpha-0.5+seed-1"])
        self.assertEqual((report.axes, report.runs[0].group), ([], "FedAvg,alpha=0.5"))
        # Together with a run of another origin, and with cases without names.
        report = load([folder / "runs/FedAvg+alpha-0.5+seed-1", folder / "runs/FedAdam+alpha-0.5+seed-1", self.make("a", alpha=0.5, rounds=2)])
        self.assertEqual([run.settings["case"] for run in report.runs], ["FedAvg", "FedAdam", ""])
        nameless = self.make_methods(values, "nameless", cases=False)
        report = load(sorted((nameless / "runs").glob("*alpha-0.5*")))
        self.assertEqual((report.axes, report.runs[0].group), (["strategy.name", "strategy.server_lr"], "strategy=fedadam,server_lr=0.5"))
        (nameless / "sweep.json").write_text("{")
        self.assertEqual(len(load(sorted((nameless / "runs").glob("*alpha-0.5*"))).runs), 4)

    def test_as_few_keys_as_tell_groups_apart_name_them_where_all_are_too_many(self):
        def own(strategy, **more):
            return {"strategy": strategy, **more}
        folders = [self.make(f"run {name}", alpha=0.25, mode=mode, server_lr=rate, weighting=weighting, **own(name)) for name, mode, rate, weighting in
                   (("fedavg", "synchronous", 1, "examples"), ("fedadam", "parameter_server", 0.0123456789, "uniform"))]
        report = load(folders)
        self.assertGreater(len(report.axes), 3)
        self.assertEqual([run.group for run in report.runs], ["strategy=fedavg", "strategy=fedadam"])

    def test_folder_named_twice_counts_once(self):
        folder = self.make("a")
        report = load([folder, folder, f"{folder}/", folder / "x" / ".."])
        self.assertEqual([run.label for run in report.runs], ["a"])

    def test_folder_that_is_neither_is_refused_with_what_was_expected(self):
        (self.folder / "empty").mkdir()
        with self.assertRaisesRegex(LoadError, r"empty is neither a run \(config.yaml.*nor a sweep \(sweep.json\): it is empty"):
            load([self.folder / "empty"])
        self.make("within")
        with self.assertRaisesRegex(LoadError, "it holds 1 run or sweeps, such as within: name them"):
            load([self.folder])
        with self.assertRaisesRegex(LoadError, "there is no such folder"):
            load([self.folder / "nowhere"])


class Names(unittest.TestCase):
    def test_keys_are_as_short_as_they_can_be(self):
        self.assertEqual(short_keys(["training.optimizer.lr", "strategy.name", "model.name", "seed"]),
                         {"training.optimizer.lr": "lr", "strategy.name": "strategy", "model.name": "model", "seed": "seed"})
        self.assertEqual(short_keys(["model", "model.name", "a.lr", "b.lr"]), {"model": "model", "model.name": "model.name", "a.lr": "a.lr", "b.lr": "b.lr"})

