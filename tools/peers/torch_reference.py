#!/usr/bin/env python3
"""Writes the test data of "the first 20 losses equal PyTorch's".

Small models of the same structure as the standard workloads, trained for 20
steps by PyTorch on the CPU. For each model:

    MODEL.init.safetensors     the initial weights (float32)
    MODEL.batches.safetensors  input.K and target.K; step s uses batch s mod count
    MODEL.json                 the model's sizes and, for each run, the optimizer, the
                               losses and the gradient norms (before clipping), in
                               float32 on one thread and in float64 from the same bits;
                               with BatchNorm also its statistics after the last step, and
                               the loss of batch 0 evaluated with them

    torch_reference.py tests/data/torch_losses
    torch_reference.py tests/data/torch_losses --models gpt2
"""

import argparse
import copy
import dataclasses
import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import Tensor, nn

import torch_workloads
from torch_workloads import Batch, Optimizer, Trainer, Workload

STEPS = 20
SEED = 1


class NormNet(nn.Module):
    """BatchNorm after an activation and before one: [n, 1, 6, 5] -> [n, 1]."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, (2, 1))
        self.norm1 = nn.BatchNorm2d(4)
        # norm2 takes every constant away: a bias here, and without the padding norm1's, would have a gradient of 0.
        self.conv2 = nn.Conv2d(4, 6, (2, 2), padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(6)
        self.head = nn.Linear(6 * 6 * 6, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm1(F.leaky_relu(self.conv1(x), 0.01))
        x = F.relu(self.norm2(self.conv2(x)))
        return self.head(x.flatten(1))


def norm_net(images: int) -> Workload:
    """Regression of small images whose mean is not 0."""

    def make_batch(generator: torch.Generator) -> Batch:
        x = torch.randn(images, 1, 6, 5, generator=generator) + 3
        return x, x.mean((2, 3)).sin()

    return Workload(NormNet(), make_batch, F.mse_loss, images=True)


# name -> (builder, its arguments, batches). The 10 image batches are used twice: the file stays small.
MODELS = {
    "mlp": (torch_workloads.mlp, {"features": 10, "width": 16, "layers": 2, "rows": 32}, 20),
    "convnet": (torch_workloads.convnet,
                {"image": 28, "channels": (4, 8, 8), "hidden": 16, "classes": 10, "images": 8}, 10),
    "gpt": (torch_workloads.gpt,
            {"layers": 2, "hidden": 32, "heads": 4, "sequence": 16, "vocab": 32, "batch": 2}, 20),
    "lstm": (torch_workloads.lstm,
             {"steps": 7, "features": 5, "hidden": 12, "layers": 2, "cell": "lstm", "windows": 14}, 20),
    "gru": (torch_workloads.lstm,
            {"steps": 7, "features": 5, "hidden": 12, "layers": 2, "cell": "gru", "windows": 14}, 20),
    "gpt2": (torch_workloads.gpt,
             {"layers": 2, "hidden": 24, "heads": 3, "sequence": 12, "vocab": 40, "batch": 2, "positions": 17,
              "tied": True}, 20),
    "xs_transformer": (torch_workloads.xs_transformer,
                       {"instruments": 21, "features": 6, "layers": 2, "hidden": 24, "heads": 3, "days": 1}, 20),
    "bert": (torch_workloads.bert,
             {"layers": 2, "hidden": 24, "heads": 3, "sequence": 12, "vocab": 40, "batch": 2, "positions": 17}, 20),
    "llama": (torch_workloads.llama,
              {"layers": 2, "hidden": 24, "heads": 6, "kv_heads": 2, "feed_forward": 40, "sequence": 12, "vocab": 40,
               "batch": 2}, 20),
    # 20 tokens of 2 choices for 5 experts that take 7: some are dropped.
    "moe": (torch_workloads.moe,
            {"layers": 2, "hidden": 16, "heads": 2, "sequence": 10, "vocab": 24, "batch": 2, "experts": 5,
             "choices": 2, "capacity_factor": 0.8}, 20),
    "deeplob": (torch_workloads.deeplob,
                {"sequence": 22, "channels": 4, "inception": 5, "hidden": 6, "classes": 3, "batch": 6}, 10),
    "resnet": (torch_workloads.resnet,
               {"image": 25, "channels": 1, "width": 4, "blocks1": 1, "blocks2": 1, "blocks3": 1, "blocks4": 1,
                "classes": 5, "batch": 8}, 10),
    "tcn": (torch_workloads.tcn,
            {"features": 5, "sequence": 24, "width": 8, "layers": 3, "kernel": 3, "batch": 4}, 20),
    "norm_net": (norm_net, {"images": 8}, 20),
}

SGD = Optimizer("sgd", lr=0.1, momentum=0.9, weight_decay=0.0, clip=0.0)
ADAMW = Optimizer("adamw", lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, clip=1.0)

# Where SGD's rate would diverge: the square error of a normalised layer of 24 has a curvature of 50, of 216 of 400, and
# BatchNorm over few rows more.
SGD_RATES = {"xs_transformer": 0.01, "norm_net": 0.01, "deeplob": 0.01, "resnet": 0.003}

# name -> (optimizer, batches a step). With two, step s uses batches 2s and 2s + 1 (mod count).
RUNS = {"sgd": (SGD, 1), "adamw": (ADAMW, 1), "adamw_accumulate_2": (ADAMW, 2)}


def train(workload: Workload, batches: list[Batch], optimizer: Optimizer, accumulate: int,
          dtype: torch.dtype) -> dict:
    """Losses and gradient norms of the first steps, from the workload's weights, which stay as they are."""
    workload = workload._replace(module=copy.deepcopy(workload.module).to(dtype))
    batches = [tuple(t.to(dtype) if t.is_floating_point() else t for t in batch) for batch in batches]
    trainer = Trainer(workload, batches, optimizer, accumulate=accumulate)
    losses, norms = [], []
    for _ in range(STEPS):
        losses.append(trainer.step().item())
        grads = [p.grad for p in trainer.module.parameters()]
        norm = trainer.grad_norm if optimizer.clip else torch.nn.utils.get_total_norm(grads)
        norms.append(norm.item())
    assert all(map(math.isfinite, losses + norms)), "training diverged"
    result = {"losses": losses, "grad_norms": norms}
    statistics = {name: value for name, value in trainer.module.named_buffers() if name.split(".")[-1].startswith("run")}
    if statistics:
        x, target = batches[0]
        with torch.no_grad():
            evaluated = workload.loss_fn(trainer.module.eval()(x), target)
        result |= {"statistics": {name: value.tolist() for name, value in statistics.items()},
                   "evaluated": evaluated.item()}
    return result


def write_model(name: str, folder: Path) -> None:
    """The three files of one model."""
    builder, sizes, count = MODELS[name]
    torch.manual_seed(SEED)
    workload = builder(**sizes)
    generator = torch.Generator().manual_seed(SEED)
    batches = [workload.make_batch(generator) for _ in range(count)]
    tensors = {}
    for k, (x, target) in enumerate(batches):
        tensors |= {f"input.{k}": x.contiguous(), f"target.{k}": target.contiguous()}
    torch_workloads.save_weights(workload.module, str(folder / f"{name}.init.safetensors"))
    save_file(tensors, folder / f"{name}.batches.safetensors")

    runs = {}
    for run, (optimizer, accumulate) in RUNS.items():
        if run == "sgd":
            optimizer = dataclasses.replace(optimizer, lr=SGD_RATES.get(name, optimizer.lr))
        runs[run] = {"optimizer": optimizer.record(), "accumulate": accumulate,
                     "f32": train(workload, batches, optimizer, accumulate, torch.float32),
                     "f64": train(workload, batches, optimizer, accumulate, torch.float64)}
    record = {"torch": torch.__version__, "seed": SEED, "steps": STEPS, "batches": count,
              "model": {"name": builder.__name__} | sizes,
              "parameters": torch_workloads.count_parameters(workload.module), "runs": runs}
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")


def main() -> None:
    """Writes the models into the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), help="default: all")
    options = parser.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name in options.models:
        write_model(name, folder)


if __name__ == "__main__":
    main()
