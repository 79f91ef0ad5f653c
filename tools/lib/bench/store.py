"""What has been measured, one file a workload, so that a bench that was stopped goes on where it was."""
import json
import os


FORMAT = 1  # of the files; one more whenever what they hold changes


class Store:
    """DIR/measured/NAME.json: {"stamp", "how", "workload", "memory": {side: MiB}, "repeats": [{side: figures}]}, of a part {"stamp", "how", "rows"}.

    stamp: the program that was measured; how: what else has to be the same for figures to stand beside each other.
    """

    def __init__(self, folder, stamp, again=False):
        self.folder, self.stamp, self.again = folder / "measured", {**stamp, "format": FORMAT}, again

    def _kept(self, name):
        try:
            kept = json.loads((self.folder / f"{name}.json").read_text())
        except (OSError, ValueError):
            return {}
        return kept if kept.get("stamp") == self.stamp else {}

    def load(self, name, how):
        """Empty where nothing was kept, another program was measured, not all of `how` is in what was, or it is to be measured again."""
        kept = {} if self.again else self._kept(name)
        return kept if kept.get("how", {}).items() >= how.items() else {}

    def everything(self, names):
        """{name: what is kept of it}, in that order."""
        kept = {name: self._kept(name) for name in names}
        return {name: found for name, found in kept.items() if found.get("repeats") or found.get("rows")}

    def save(self, name, how, found):
        """Without the data's folder, which differs between machines."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if "workload" in found:
            found = {**found, "workload": {key: value for key, value in found["workload"].items() if key != "root"}}
        file = self.folder / f"{name}.json"
        partial = file.with_name(file.name + ".part")
        partial.write_text(json.dumps({**found, "stamp": self.stamp, "how": how}, indent=1) + "\n")
        os.replace(partial, file)
