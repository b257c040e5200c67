"""Writes activations.txt: Transformers' activations (ACT2FN), which must be equal to src/reference.rs.

Each line: name, then x and the activation of x in turn, computed in float64 (python's shortest decimals). Made with transformers
5.24.0 and torch 2.15.0; usage: python activations.py > activations.txt
"""

import torch
from transformers.activations import ACT2CLS, ACT2FN

# Around all bends and limits: of ReLU6 and hardswish (±3, 6), gelu_10 (10) and torch's softplus (20).
PLACES = [-12.0, -5.0, -3.5, -3.0, -1.5, -0.25, -0.0, 0.0, 0.25, 0.7, 1.5, 2.5, 3.0, 3.5, 6.0, 7.0, 12.0, 19.5, 25.0]
WITH_WEIGHTS = {"prelu", "xielu"}

for name in ACT2CLS:
    if name not in WITH_WEIGHTS:
        results = ACT2FN[name](torch.tensor(PLACES, dtype=torch.float64)).tolist()
        print(name, *(f"{x!r} {y!r}" for x, y in zip(PLACES, results)))
