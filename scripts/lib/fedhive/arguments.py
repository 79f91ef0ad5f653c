"""The arguments k and root of a method file's functions."""
from .context import fail, unknown


class Cohort:
    """The argument k: one entry for each client whose update counts."""

    def __init__(self, file, place):
        self._file, self._place = file, place

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "count":
            return self._file.value("received", False)
        known = self._file.of_cohort(self._place)
        if name in known:
            return self._file.cohort_value(name, known[name])
        if name in self._file.memories:
            fail(f"k.{name}: memory '{name}' is not sent up; declare a memory of='visit' with up=True, and return it from @fh.end")
        return fail(unknown("k's", name, [*known, "count"]))

    def __iter__(self):
        fail("a loop over the cohort: write fh.sum(k.…), fh.mean(k.…), fh.max(k.…)")

    def __len__(self):
        fail("len(k): the cohort's size is k.count")

    def __getitem__(self, _):
        fail("an index into the cohort: formulas treat all clients alike; fh.where, fh.rank and fh.sort choose by their numbers")

    def __repr__(self):
        return "the cohort k"


class Root:
    """The argument root: the server's own client, which trains on data.root_examples beside each cohort."""

    def __init__(self, file):
        self.u = file.value("root.u", True)
