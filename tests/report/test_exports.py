"""Files for other programs: TensorBoard's event files and Parquet."""
from report import exports, frames
from report.load import load
from support import TemporaryFolder
from tensorboardX.proto.event_pb2 import Event

import pandas as pd


def events_of(folder):
    """The events of a folder's only event file. A record: length, checksum, data, checksum."""
    file, = folder.glob("events.out.tfevents.*")
    content, at = file.read_bytes(), 0
    while at < len(content):
        length = int.from_bytes(content[at:at + 8], "little")
        event = Event()
        event.ParseFromString(content[at + 12:at + 12 + length])
        yield event
        at += 16 + length


def scalars(folder, tag):
    return [(event.step, value.simple_value, event.wall_time) for event in events_of(folder) for value in event.summary.value if value.tag == tag]


class TensorBoard(TemporaryFolder):
    def test_scalars_are_those_of_the_rounds_at_their_times(self):
        folder = self.make("a", rounds=3, every=2)
        report = load([folder])
        exports.tensorboard(report, self.folder / "tb")
        rounds = report.runs[0].rounds
        found = scalars(self.folder / "tb/a", "test/accuracy")
        self.assertEqual([step for step, *_ in found], [2, 3])  # round 1 was not evaluated
        for (step, value, time), accuracy in zip(found, rounds["test_accuracy"].dropna()):
            self.assertAlmostEqual(value, accuracy, places=6)
            self.assertAlmostEqual(time, 1795233906 + rounds["wall_s"][:step].sum(), places=3)
        self.assertEqual(len(scalars(self.folder / "tb/a", "train/loss")), 3)

    def test_second_report_takes_the_place_of_the_first(self):
        report = load([self.make("a", rounds=2)])
        exports.tensorboard(report, self.folder / "tb")
        file, = (self.folder / "tb/a").iterdir()
        file.rename(file.with_name("events.out.tfevents.1.earlier"))
        exports.tensorboard(report, self.folder / "tb")
        self.assertEqual(len(scalars(self.folder / "tb/a", "train/loss")), 2)

    def test_each_run_has_a_folder_and_waiting_ones_have_none(self):
        report = load([self.make_sweep(rates=(0.1,), alphas=(None,), seeds=3, fates=["finished", "killed", "waiting"])])
        exports.tensorboard(report, self.folder / "tb")
        self.assertEqual(sorted(child.name for child in (self.folder / "tb").iterdir()), ["lr-0.1+scheme-iid+seed-1", "lr-0.1+scheme-iid+seed-2"])


class Parquet(TemporaryFolder):
    def read(self, report):
        exports.parquet(report, frames.run_frame(report), self.folder / "pq")
        return {file.stem: pd.read_parquet(file) for file in (self.folder / "pq").iterdir()}

    def test_each_row_knows_its_run_and_settings(self):
        report = load([self.make_sweep(rates=(0.01, 0.1), alphas=(None, 0.5), seeds=2, rounds=3, clients=2)])
        found = self.read(report)
        self.assertEqual({name: len(frame) for name, frame in found.items()}, {"rounds": 24, "clients": 48, "summary": 8})
        for frame in found.values():
            self.assertEqual(list(frame.columns[:3]), ["run", "group", "seed"])
            self.assertEqual(frame["training.optimizer.lr"].dtype.kind, "f")
            self.assertEqual(set(frame["training.optimizer.lr"]), {0.01, 0.1})
            self.assertEqual(set(frame["data.partition.alpha"].dropna()), {0.5})  # does not apply to iid: missing
            self.assertEqual(set(frame["data.partition.scheme"]), {"iid", "dirichlet"})
        run = report.runs[3]
        mine = found["clients"][found["clients"]["run"] == run.label]
        self.assertEqual(list(mine["update_hash"]), list(run.clients["update_hash"]))
        self.assertEqual(list(mine["seed"]), [run.seed] * len(run.clients))
        by_hand = found["rounds"].groupby("run")["test_accuracy"].last()[run.label]
        self.assertEqual(by_hand, run.rounds["test_accuracy"].iloc[-1])

    def test_table_without_a_row_is_left_out(self):
        found = self.read(load([self.make_sweep(rates=(0.1,), alphas=(None,), seeds=1, fates=["waiting"])]))
        self.assertEqual(list(found), ["summary"])

    def test_runs_of_two_versions_go_into_one_table(self):
        found = self.read(load([self.make("old", rounds=2, bare=True), self.make("new", rounds=2, seed=2)]))
        rows = found["rounds"]
        self.assertTrue(rows[rows["run"] == "old"]["started_s"].isna().all())
        self.assertTrue(rows[rows["run"] == "new"]["started_s"].notna().all())
