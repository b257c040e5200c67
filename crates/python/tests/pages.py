"""The code examples of Transformers' documentation pages of DINOv2 and DINOv3, and how they are run.

An example differs from its page in checkpoints and pictures, which are this repository's. Its imports are
those of the page: `as_dinoxide` changes them, and only them. The example with `torch.jit.trace` is left out,
since there is no torch module to trace.
"""

from __future__ import annotations

import ast
import contextlib
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
STANDINS = ROOT / "fixtures" / "standins" / "hub"
PICTURE = ROOT / "pictures" / "chelsea.png"
CLASSIFIER = ROOT / "fixtures" / "dinov2-classifier"
# Checkpoints of the pages, and tiny models of the kind that stand for them.
CHECKPOINTS = {
    "facebook/dinov2-small-imagenet1k-1-layer": CLASSIFIER,
    "facebook/dinov2-giant-imagenet1k-1-layer": CLASSIFIER,
    "facebook/dinov2-base (classifier)": CLASSIFIER,
    "facebook/dinov2-with-registers-base (classifier)": ROOT
    / "fixtures"
    / "dinov2-with-registers-classifier",
    "facebook/dinov2-base": STANDINS / "facebook" / "dinov2-base",
    "facebook/dinov3-vits16-pretrain-lvd1689m": STANDINS / "facebook" / "dinov3-vits16-pretrain-lvd1689m",
    "facebook/dinov3-vitsplus-pretrain-lvd1689m": STANDINS / "facebook" / "dinov3-vits16-pretrain-lvd1689m",
    "facebook/dinov3-vit7b16-pretrain-lvd1689m": STANDINS / "facebook" / "dinov3-vits16-pretrain-lvd1689m",
}

CLASSIFICATION_PIPELINE = """
from transformers import pipeline

pipe = pipeline(
    task="image-classification",
    model="facebook/dinov2-small-imagenet1k-1-layer",
    device=0
)

pipe("PICTURE")
"""

CLASSIFICATION = """
from PIL import Image

from transformers import AutoImageProcessor, AutoModelForImageClassification

image = Image.open("PICTURE")

processor = AutoImageProcessor.from_pretrained("facebook/dinov2-small-imagenet1k-1-layer")
model = AutoModelForImageClassification.from_pretrained(
    "facebook/dinov2-small-imagenet1k-1-layer",
    device_map="auto",
    attn_implementation="sdpa"
)

inputs = processor(images=image, return_tensors="pt").to(model.device)
logits = model(**inputs).logits
predicted_class_idx = logits.argmax(-1).item()
print("Predicted class:", model.config.id2label[predicted_class_idx])
"""

CLASSIFICATION_INT4 = """
from PIL import Image
from torchao.quantization import Int4WeightOnlyConfig

from transformers import AutoImageProcessor, AutoModelForImageClassification, TorchAoConfig

image = Image.open("PICTURE")

processor = AutoImageProcessor.from_pretrained('facebook/dinov2-giant-imagenet1k-1-layer')

quant_config = Int4WeightOnlyConfig(group_size=128)
quantization_config = TorchAoConfig(quant_type=quant_config)

model = AutoModelForImageClassification.from_pretrained(
    'facebook/dinov2-giant-imagenet1k-1-layer',
    device_map="auto",
    quantization_config=quantization_config
)

inputs = processor(images=image, return_tensors="pt").to(model.device)
outputs = model(**inputs)
logits = outputs.logits
predicted_class_idx = logits.argmax(-1).item()
print("Predicted class:", model.config.id2label[predicted_class_idx])
"""

DINOV2_TOKENS = """
from transformers import AutoImageProcessor, AutoModel
from PIL import Image

image = Image.open("PICTURE")
print(image.height, image.width)  # [480, 640]

processor = AutoImageProcessor.from_pretrained('facebook/dinov2-base')
model = AutoModel.from_pretrained('facebook/dinov2-base', device_map="auto")
patch_size = model.config.patch_size

inputs = processor(images=image, return_tensors="pt").to(model.device)
print(inputs.pixel_values.shape)  # [1, 3, 224, 224]
batch_size, rgb, img_height, img_width = inputs.pixel_values.shape
num_patches_height, num_patches_width = img_height // patch_size, img_width // patch_size
num_patches_flat = num_patches_height * num_patches_width

outputs = model(**inputs)
last_hidden_states = outputs[0]
print(last_hidden_states.shape)  # [1, 1 + 256, 768]
assert last_hidden_states.shape == (batch_size, 1 + num_patches_flat, model.config.hidden_size)

cls_token = last_hidden_states[:, 0, :]
patch_features = last_hidden_states[:, 1:, :].unflatten(1, (num_patches_height, num_patches_width))
"""

DINOV2_CONFIG = """
from transformers import Dinov2Config, Dinov2Model

configuration = Dinov2Config()

model = Dinov2Model(configuration)

configuration = model.config
"""

DINOV2_LABELS = """
from transformers import AutoImageProcessor, Dinov2ForImageClassification
import torch
from PIL import Image

image = Image.open("PICTURE")

image_processor = AutoImageProcessor.from_pretrained("facebook/dinov2-base (classifier)")
model = Dinov2ForImageClassification.from_pretrained("facebook/dinov2-base (classifier)")

inputs = image_processor(image, return_tensors="pt")

with torch.no_grad():
    logits = model(**inputs).logits

predicted_label = logits.argmax(-1).item()
print(model.config.id2label[predicted_label])
"""

REGISTERS_LABELS = """
from transformers import AutoImageProcessor, Dinov2WithRegistersForImageClassification
import torch
from PIL import Image

image = Image.open("PICTURE")

image_processor = AutoImageProcessor.from_pretrained("facebook/dinov2-with-registers-base (classifier)")
model = Dinov2WithRegistersForImageClassification.from_pretrained("facebook/dinov2-with-registers-base (classifier)")

inputs = image_processor(image, return_tensors="pt")

with torch.no_grad():
    logits = model(**inputs).logits

predicted_label = logits.argmax(-1).item()
print(model.config.id2label[predicted_label])
"""

FEATURE_PIPELINE = """
from transformers import pipeline

pipe = pipeline(
    task="image-feature-extraction",
    model="facebook/dinov3-vits16-pretrain-lvd1689m",
)

pipe("PICTURE")
"""

DINOV3_POOLED = """
import torch

from transformers import AutoImageProcessor, AutoModel
from transformers.image_utils import load_image

url = "PICTURE"
image = load_image(url)

processor = AutoImageProcessor.from_pretrained("facebook/dinov3-vits16-pretrain-lvd1689m")
model = AutoModel.from_pretrained(
    "facebook/dinov3-vits16-pretrain-lvd1689m",
    device_map="auto",
    attn_implementation="sdpa"
)

inputs = processor(images=image, return_tensors="pt").to(model.device)
with torch.inference_mode():
    outputs = model(**inputs)

pooled_output = outputs.pooler_output
print("Pooled output shape:", pooled_output.shape)
"""

DINOV3_INT4 = """
import torch
from torchao.quantization import Int4WeightOnlyConfig

from transformers import AutoImageProcessor, AutoModel, TorchAoConfig
from transformers.image_utils import load_image

url = "PICTURE"
image = load_image(url)

processor = AutoImageProcessor.from_pretrained("facebook/dinov3-vitsplus-pretrain-lvd1689m")

quant_type = Int4WeightOnlyConfig(group_size=128)
quantization_config = TorchAoConfig(quant_type=quant_type)

model = AutoModel.from_pretrained(
    "facebook/dinov3-vit7b16-pretrain-lvd1689m",
    device_map="auto",
    quantization_config=quantization_config
)

inputs = processor(images=image, return_tensors="pt").to(model.device)
with torch.inference_mode():
    outputs = model(**inputs)

pooled_output = outputs.pooler_output
print("Pooled output shape:", pooled_output.shape)
"""

DINOV3_TOKENS = """
import torch
from transformers import AutoImageProcessor, AutoModel
from transformers.image_utils import load_image

url = "PICTURE"
image = load_image(url)
print("Image size:", image.height, image.width)  # [480, 640]

processor = AutoImageProcessor.from_pretrained("facebook/dinov3-vits16-pretrain-lvd1689m")
model = AutoModel.from_pretrained("facebook/dinov3-vits16-pretrain-lvd1689m", device_map="auto")
patch_size = model.config.patch_size
print("Patch size:", patch_size) # 16
print("Num register tokens:", model.config.num_register_tokens) # 4

inputs = processor(images=image, return_tensors="pt").to(model.device)
print("Preprocessed image size:", inputs.pixel_values.shape)  # [1, 3, 224, 224]

batch_size, _, img_height, img_width = inputs.pixel_values.shape
num_patches_height, num_patches_width = img_height // patch_size, img_width // patch_size
num_patches_flat = num_patches_height * num_patches_width

with torch.inference_mode():
  outputs = model(**inputs)

last_hidden_states = outputs.last_hidden_state
print(last_hidden_states.shape)  # [1, 1 + 4 + 256, 384]
assert last_hidden_states.shape == (batch_size, 1 + model.config.num_register_tokens + num_patches_flat, model.config.hidden_size)

cls_token = last_hidden_states[:, 0, :]
patch_features_flat = last_hidden_states[:, 1 + model.config.num_register_tokens:, :]
patch_features = patch_features_flat.unflatten(1, (num_patches_height, num_patches_width))
"""

DINOV3_CONFIG = """
from transformers import DINOv3ViTConfig, DINOv3ViTModel

config = DINOv3ViTConfig()

model = DINOv3ViTModel(config)

config = model.config
"""

CONVNEXT_CONFIG = """
from transformers import DINOv3ConvNextConfig, DINOv3ConvNextModel

config = DINOv3ConvNextConfig()

model = DINOv3ConvNextModel(config)

config = model.config
"""


@dataclass
class Outcome:
    """What an example did."""

    printed: list[str]
    value: Any
    """Of the last line, where it is an expression."""
    names: dict[str, Any] = field(repr=False)


def with_local_files(example: str) -> str:
    """The example with checkpoints and pictures of this repository."""
    for name, folder in CHECKPOINTS.items():
        example = example.replace(f'"{name}"', repr(str(folder))).replace(f"'{name}'", repr(str(folder)))
    return example.replace('"PICTURE"', repr(str(PICTURE)))


def as_dinoxide(example: str, *, torch: bool) -> str:
    """The example with its imports changed; without torch `dinoxide` stands for it."""
    example = example.replace("from transformers.image_utils import", "from dinoxide.image_utils import")
    example = example.replace("from transformers import", "from dinoxide import")
    example = example.replace("from torchao.quantization import", "from dinoxide import")
    return example if torch else example.replace("import torch\n", "import dinoxide as torch\n")


def as_transformers_on_the_cpu(example: str) -> str:
    """The example for Transformers without a GPU and without accelerate, which `device_map` needs."""
    lines = example.splitlines(keepends=True)
    kept = [line for line in lines if line.strip() not in ("device=0", 'device_map="auto",')]
    return "".join(kept).replace(', device_map="auto")', ")")


def run(example: str) -> Outcome:
    """Runs an example."""
    tree = ast.parse(with_local_files(example))
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    names: dict[str, Any] = {}
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<page>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<page>", "eval"), names)
    return Outcome(printed.getvalue().splitlines(), value, names)
