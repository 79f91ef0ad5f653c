"""tools/lib/bench/peers.py: its interface to the harness; no side is run."""
import peers
from support import SMALL, TemporaryFolder


class Sides(TemporaryFolder):
    def install(self, **versions):
        installed = self.folder / ".deps" / "peers"
        for name, version in versions.items():
            info = installed / f"{name}-{version}.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (installed / "installed").write_text("/somewhere/python3\ntorch==2.11.0\n")
        return installed

    def test_no_side_where_nothing_is_installed(self):
        self.assertEqual(peers.sides(self.folder), [])

    def test_names_tell_the_versions_found(self):
        self.install(pfl="0.6.0", flwr="1.41.0", torch="2.11.0")
        self.assertEqual([side.name for side in peers.sides(self.folder)],
                         ["pfl-research 0.6.0", "pfl-research 0.6.0, tuned", "Flower 1.41.0", "Flower 1.41.0, tuned",
                          "torch.multiprocessing 2.11.0", "torch.multiprocessing 2.11.0, tuned"])

    def test_each_runs_as_installed_and_with_the_allocator_tuned(self):
        self.install(pfl="1", flwr="1", torch="1")
        for plain, tuned in zip(*[iter(peers.sides(self.folder))] * 2):
            self.assertEqual(tuned.environment(), {**plain.environment(), **peers.TUNED})
            self.assertFalse(any(key.startswith("MALLOC") for key in plain.environment()))
            self.assertEqual(tuned.script, plain.script)

    def test_commands_take_the_recorded_python_and_the_number_of_processes(self):
        self.install(pfl="1", flwr="1", torch="1")
        path = self.workload_file(processes=3)
        pfl, _, flower, *_ = [side.command(path) for side in peers.sides(self.folder)]
        self.assertEqual(pfl[:3], ["/somewhere/python3", "-m", "torch.distributed.run"])
        self.assertIn("--nproc-per-node=3", pfl)
        self.assertEqual(flower, ["/somewhere/python3", str(self.folder / "tests/bench/peers/with_flower.py"), str(path)])

    def test_environment_finds_modules_and_stubs(self):
        installed = self.install(pfl="1", flwr="1", torch="1")
        environment = peers.sides(self.folder)[0].environment()
        self.assertEqual(environment["PYTHONPATH"], str(installed))
        self.assertEqual(environment["LD_LIBRARY_PATH"], str(installed / "stubs"))
        self.assertEqual(environment["OMP_NUM_THREADS"], "1")

    def test_supports_the_models_that_the_programs_know(self):
        self.install(pfl="1", flwr="1", torch="1")
        for side in peers.sides(self.folder):
            self.assertTrue(side.supports(SMALL))
            self.assertFalse(side.supports({**SMALL, "model": "resnet"}))
            self.assertFalse(side.supports({**SMALL, "data": "csv"}))
