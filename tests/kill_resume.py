#!/usr/bin/env -S python3 -B
"""A run killed with -9 at random moments and resumed ends with the same loss as one never stopped.

    tests/kill_resume.py [--long]

Compares the bits of metrics.loss. Also: a failing save (a limit on the size of files, as a full disk) exits 3, names
the file, and keeps the checkpoints that were there. --long is the full gpt of models/gpt_kjv.yaml, 40 steps.
"""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

HEADWAY = os.environ["HEADWAY"]
MODELS = pathlib.Path(__file__).resolve().parent.parent / "models"
SMALL = ["model.layers=2", "model.hidden=64", "model.heads=2", "model.sequence=32", "model.dropout=0.1"]


def command(folder, overrides, resume=False):
    words = [HEADWAY, "train", str(MODELS / "gpt_kjv.yaml"), "--json", "-"]
    for override in [*overrides, f"train.checkpoint.dir={folder}", "train.evaluate.every=0"]:
        words += ["--set", override]
    return words + (["--resume"] if resume else [])


def final_loss(folder, overrides, resume=False):
    done = subprocess.run(command(folder, overrides, resume), check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)["metrics"]["loss"]


def kill_and_resume(overrides, most_seconds, kills):
    """Returns the final loss; every killed process leaves whole checkpoints or none."""
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(kills):
            process = subprocess.Popen(command(folder, overrides, True), stdout=subprocess.DEVNULL)
            try:
                process.wait(random.uniform(0.05, most_seconds))
                break  # ended before it was killed
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
        return final_loss(folder, overrides, True)


def failing_save(overrides):
    with tempfile.TemporaryDirectory() as folder:
        final_loss(folder, [*overrides, "train.steps=10"])
        before = sorted(os.listdir(folder))
        words = command(folder, overrides, True)
        done = subprocess.run(["sh", "-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh", *words],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 3, (done.returncode, done.stderr)
        assert "cannot write" in done.stderr and folder in done.stderr, done.stderr
        assert sorted(os.listdir(folder)) == before, (before, os.listdir(folder))
        return final_loss(folder, overrides, True)


def main():
    random.seed(1)
    full = "--long" in sys.argv[1:]
    overrides = (["train.steps=40"] if full else [*SMALL, "train.steps=200"]) + ["train.checkpoint.every=10"]
    with tempfile.TemporaryDirectory() as folder:
        start = time.time()
        expected = final_loss(folder, overrides)
        seconds = time.time() - start
    resumed = kill_and_resume(overrides, seconds, 3 if full else 8)
    assert resumed == expected, f"killed and resumed: {resumed!r}, never stopped: {expected!r}"
    if not full:
        again = failing_save(overrides)
        assert again == expected, f"after a failed save: {again!r}, never stopped: {expected!r}"
    other = [*overrides, "train.seed=2"]
    with tempfile.TemporaryDirectory() as folder:
        assert full or final_loss(folder, other) != expected, "another seed gives the same loss: the test proves nothing"
    print(f"final loss {expected!r} in every case")


if __name__ == "__main__":
    main()
