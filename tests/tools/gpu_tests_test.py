"""CTest's properties of cases that need a GPU: each has the label, ten minutes, and exclusive use of the GPU.

usage: gpu_tests_test.py BUILD
"""
import json
import subprocess
import sys


def properties(test):
    return {one["name"]: one["value"] for one in test.get("properties", [])}


def main(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    tests = json.loads(listed[listed.index("{"):])["tests"]
    named = [test for test in tests if ":Gpu:" in test["name"]]
    wrong = []
    for test in named:
        have = properties(test)
        if "gpu" not in have.get("LABELS", []):
            wrong.append(f"{test['name']} lacks the label gpu")
        expected = {"TIMEOUT": 600.0, "RESOURCE_LOCK": ["gpu"]}
        wrong += [f"{test['name']}: {key} is {have.get(key)}, expected {value}" for key, value in expected.items() if have.get(key) != value]
    wrong += [f"{test['name']} has the label gpu, but not the name" for test in tests
              if "gpu" in properties(test).get("LABELS", []) and test not in named]
    if not named:
        print("[skipped] no program with such cases is built")
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
