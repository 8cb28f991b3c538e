#!/usr/bin/env python3
"""Windows of a columnar file through PyTorch's DataLoader: the peer of `headway bench data`.

    tools/peers/torch_data.py FILE [--window 100] [--horizon 50] [--batch 64] [--workers 2] [--seconds 3]

Maps the f32 block with numpy (docs/columnar.md has the format), makes a map-style data set of (window, label) as a user
would, and times batches in random order once the workers run. The features are not standardised here, which spares
this side work. Prints one line of JSON.
"""

import argparse
import json
import struct
import sys
import time

NUMPY_TYPES = {"f32": "<f4", "f64": "<f8", "i32": "<i4", "i64": "<i8"}


def read_columnar(path, numpy):
    with open(path, "rb") as file:
        prologue = file.read(64)
        magic, order, version, _, offset, size = struct.unpack("<8sIIQQQ", prologue[:40])
        if (magic, order, version) != (b"HEADWAYC", 0x01020304, 1):
            sys.exit(f"{path}: not a columnar file of version 1")
        file.seek(offset)
        footer = json.loads(file.read(size))
    blocks = {block["dtype"]: numpy.memmap(path, NUMPY_TYPES[block["dtype"]], "r", block["offset"],
                                           (footer["rows"], block["width"])) for block in footer["blocks"]}
    return footer, blocks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    for name, default in (("window", 100), ("horizon", 50), ("batch", 64), ("workers", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    try:
        import numpy
        import torch
    except ImportError as error:
        print(json.dumps({"error": f"{error}; pip install torch numpy"}))
        sys.exit(1)

    footer, blocks = read_columnar(options.file, numpy)
    rows = blocks["f32"]
    ends = footer["segments"][1:] + [footer["rows"]]
    starts = numpy.concatenate([numpy.arange(begin, end - options.window - options.horizon + 1)
                                for begin, end in zip(footer["segments"], ends)])
    # A label for each row, worked out before: the direction of the first feature over the horizon.
    first = numpy.asarray(rows[:, 0], dtype=numpy.float64)
    labels = numpy.sign(numpy.roll(first, -options.horizon) - first).astype(numpy.int64) + 1

    class Windows(torch.utils.data.Dataset):
        def __len__(self):
            return len(starts)

        def __getitem__(self, index):
            start = starts[index]
            window = numpy.array(rows[start:start + options.window])
            return torch.from_numpy(window), labels[start + options.window - 1]

    loader = torch.utils.data.DataLoader(Windows(), batch_size=options.batch, shuffle=True, drop_last=True,
                                         num_workers=options.workers)
    windows, begin = 0, None
    while begin is None or time.perf_counter() - begin < options.seconds:
        for number, batch in enumerate(loader):
            if begin is None and number == 20:  # the workers run and their queues are full
                begin, windows = time.perf_counter(), 0
            windows += len(batch[0])
            if begin is not None and time.perf_counter() - begin >= options.seconds:
                break
    spent = time.perf_counter() - begin
    rate = windows / spent
    print(json.dumps({"windows_per_s": rate, "rows_per_s": rate * options.window,
                      "bytes_per_s": rate * options.window * rows.shape[1] * 4, "workers": options.workers}))


main()
