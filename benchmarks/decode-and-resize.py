"""Pictures and reference for `crates/image/benches/decode_and_resize.rs`, and the times of Pillow and torchvision.

    python benchmarks/decode-and-resize.py DIR

Needs transformers 5.24.0, torch, torchvision, Pillow, numpy and scikit-image, whose photographs are saved again as JPEG at several
qualities, subsamplings, progressive or not, with restart markers and odd sides; NAME.rgb is what Pillow decodes.
WIDTHxHEIGHT.raw are noise; .bicubic and .bilinear what torchvision makes of them. One thread; the least of several rounds.
"""

import sys
import time
from pathlib import Path

import numpy as np
import skimage.data
import torch
import torchvision.transforms.v2.functional as tv
from PIL import Image
from torchvision.transforms import InterpolationMode
from transformers import BitImageProcessor
from transformers.image_utils import load_image
from transformers.models.dinov3_vit.image_processing_dinov3_vit import DINOv3ViTImageProcessor

PROCESSORS = (
    ("dinov2", BitImageProcessor(size={"shortest_edge": 256}, image_mean=[0.485, 0.456, 0.406], image_std=[0.229, 0.224, 0.225])),
    ("dinov3", DINOv3ViTImageProcessor()),
)
SIZES = [(512, 512), (1920, 1080), (4000, 3000)]


def best(run):
    start = time.perf_counter()
    run()
    rounds = int(min(max(1 / (time.perf_counter() - start), 5), 200))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def photographs(folder):
    def save(image, name, **options):
        image.save(folder / f"{name}.jpg", **options)
        (folder / f"{name}.rgb").write_bytes(Image.open(folder / f"{name}.jpg").convert("RGB").tobytes())

    for name in ("astronaut", "chelsea", "coffee", "rocket", "camera"):
        image = Image.fromarray(getattr(skimage.data, name)())
        for quality in (50, 75, 90, 95, 100):
            for subsampling in (0, 1, 2):
                for progressive in (False, True):
                    label = f"{name}-{quality}-{subsampling}-{'progressive' if progressive else 'baseline'}"
                    save(image, label, quality=quality, subsampling=subsampling, progressive=progressive)
        if image.mode == "RGB":
            save(image, f"{name}-411", quality=85, subsampling="4:1:1")
        save(image, f"{name}-restarts", quality=85, restart_marker_rows=1)
        save(image.crop((0, 0, image.width - 3, image.height - 5)), f"{name}-odd", quality=85)
    big = np.asarray(Image.fromarray(skimage.data.astronaut()).resize((4000, 3000), Image.BICUBIC)).astype(int)
    grain = np.random.default_rng(0).integers(-6, 7, (3000, 4000, 1))
    big = Image.fromarray(np.clip(big + grain, 0, 255).astype(np.uint8))
    save(big, "12mp-420", quality=85)
    save(big, "12mp-444", quality=90, subsampling=0)
    save(big, "12mp-progressive", quality=85, progressive=True)
    save(Image.fromarray(skimage.data.coffee()).resize((640, 480), Image.BICUBIC), "640x480", quality=90)
    for name in ("640x480", "12mp-420", "12mp-444", "12mp-progressive"):
        path = folder / f"{name}.jpg"
        print(f"  Pillow: {name}.jpg in {best(lambda: load_image(str(path))):.1f} ms")
        for label, processor in PROCESSORS:
            print(f"  Transformers: {name}.jpg {label} in {best(lambda: processor(load_image(str(path)), return_tensors='pt')):.1f} ms")


def resizes(folder):
    for width, height in SIZES:
        array = np.random.default_rng(0).integers(0, 256, (height, width, 3)).astype(np.uint8)
        name = f"{width}x{height}"
        (folder / f"{name}.raw").write_bytes(array.tobytes())
        # As the processors hold it: channels first, contiguous.
        tensor = torch.from_numpy(array).permute(2, 0, 1).contiguous()
        image = Image.fromarray(array)
        short = min(width, height)
        size = [int(256 * height / short), int(256 * width / short)]
        for kind, mode, pil in (
            ("bicubic", InterpolationMode.BICUBIC, Image.BICUBIC),
            ("bilinear", InterpolationMode.BILINEAR, Image.BILINEAR),
        ):
            out = tv.resize(tensor, size, interpolation=mode, antialias=True)
            (folder / f"{name}.{kind}").write_bytes(out.permute(1, 2, 0).numpy().tobytes())
            print(f"  torchvision: {name} {kind} in {best(lambda: tv.resize(tensor, size, interpolation=mode, antialias=True)):.2f} ms")
            off = np.abs(np.asarray(image.resize(size[::-1], pil)).astype(int) - out.permute(1, 2, 0).numpy())
            took = best(lambda: image.resize(size[::-1], pil))
            print(f"  Pillow: {name} {kind} in {took:.2f} ms, off by up to {off.max()}, mean {off.mean():.4f}")
        for label, processor in PROCESSORS:
            print(f"  Transformers: {name} {label} in {best(lambda: processor(tensor)):.2f} ms")


if __name__ == "__main__":
    torch.set_num_threads(1)
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    photographs(target)
    resizes(target)
