"""Makes processor.txt and processor/: what Transformers' processors make of pictures drawn by formula.

Run in a Python with transformers 5.24.0, torch, torchvision 0.29.2 and numpy:

    python processor.py       # in crates/image/tests/data

A line of processor.txt: name, picture, dtype, height, width, channels, processor, do_convert_rgb, size, resample, crop_size,
rescale_factor, normalize, then channels, height and width of the result, whose float32 values are in processor/NAME.f32. `-` is a
step that is off. The pictures are drawn again by the test: `ramp` and `checker` below.
"""

from pathlib import Path

import numpy as np
from transformers import BitImageProcessor
from transformers.models.dinov3_vit.image_processing_dinov3_vit import DINOv3ViTImageProcessor

HERE = Path(__file__).parent
FACTOR = 0.00392156862745098
IMAGENET = ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])


def ramp(h, w, c):
    y, x, k = np.mgrid[0:h, 0:w, 0:c]
    return ((x * 13 + y * 29 + k * 71 + x * y * (k + 1)) % 256).astype(np.uint8)


def checker(h, w, c):
    y, x, k = np.mgrid[0:h, 0:w, 0:c]
    return ((x + y) % 2 * 160 + x * 60 // w + k * 10).astype(np.uint8)


CASES = """
short-edge-wide      ramp u8 32 64 3 bit 1 short:26 3 - F imagenet
short-edge-tall      ramp u8 50 33 3 bit 1 short:26 3 - F imagenet
dinov2               ramp u8 60 90 3 bit 1 short:32 3 14:14 F imagenet
dinov2-odd-margin    ramp u8 64 86 3 bit 1 short:32 3 14:14 F imagenet
dinov2-enlarged      ramp u8 10 8 3 bit 1 short:32 3 14:14 F imagenet
dinov2-checker       checker u8 3000 4000 3 bit 1 short:256 3 14:14 F imagenet
dinov2-thin          ramp u8 700 1 3 bit 1 short:32 3 14:14 F imagenet
crop-larger          ramp u8 9 20 3 bit 1 - 3 14:15 F imagenet
crop-larger-one-axis ramp u8 9 40 3 bit 1 short:9 3 12:14 F -
no-resize            ramp u8 21 17 3 bit 1 - 3 14:14 F imagenet
bilinear             ramp u8 60 90 3 bit 1 exact:14:11 2 - - -
bicubic              ramp u8 60 90 3 bit 1 exact:14:11 3 - - -
lanczos              ramp u8 60 90 3 bit 1 exact:14:11 1 - - -
nearest              ramp u8 60 90 3 bit 1 exact:14:11 0 - - -
nearest-enlarged     ramp u8 5 7 3 bit 1 exact:14:11 0 - - -
capped               ramp u8 30 90 3 bit 1 capped:20:40 3 - - -
capped-not           ramp u8 30 40 3 bit 1 capped:20:40 3 - - -
max                  ramp u8 30 90 3 bit 1 max:20:40 3 - - -
rescale-only         ramp u8 20 30 3 bit 1 short:14 3 - F -
normalize-only       ramp u8 20 30 3 bit 1 short:14 3 - - imagenet
other-factor         ramp u8 20 30 3 bit 1 short:14 3 - 0.0078125 imagenet
grey-array           ramp u8 20 30 1 bit 1 short:14 3 - F imagenet
alpha-array          ramp u8 20 30 4 bit 1 short:14 3 - F imagenet
float-array          ramp f32 20 30 3 bit 1 short:14 3 - F imagenet
float-array-scaled   ramp unit 20 30 3 bit 1 short:14 3 - - imagenet
dinov3               ramp u8 60 90 3 dinov3 0 exact:14:14 2 - F imagenet
dinov3-checker       checker u8 301 200 3 dinov3 0 exact:14:14 2 - F imagenet
dinov3-crop          ramp u8 60 90 3 dinov3 0 short:20 2 14:14 F imagenet
dinov3-crop-larger   ramp u8 60 90 3 dinov3 0 exact:12:9 2 14:14 F imagenet
dinov3-bicubic       ramp u8 9 7 3 dinov3 0 exact:14:14 3 - F imagenet
dinov3-lanczos       ramp u8 60 90 3 dinov3 0 exact:14:14 1 - F -
dinov3-nearest       ramp u8 60 90 3 dinov3 0 exact:14:14 0 - F imagenet
dinov3-no-resize     ramp u8 14 13 3 dinov3 0 - 2 - F imagenet
dinov3-no-rescale    ramp u8 60 90 3 dinov3 0 exact:14:14 2 - - -
dinov3-grey          ramp u8 60 90 1 dinov3 0 exact:14:14 2 - F imagenet
dinov3-unit          ramp unit 60 90 3 dinov3 0 exact:14:14 2 - - imagenet
"""


def options(size, resample, crop, factor, normalize, convert):
    form, *values = size.split(":")
    keys = {"short": ["shortest_edge"], "exact": ["height", "width"], "capped": ["shortest_edge", "longest_edge"], "max": ["max_height", "max_width"]}
    out = dict(do_convert_rgb=convert == "1", do_resize=size != "-", resample=int(resample))
    out["size"] = dict(zip(keys[form], map(int, values))) if size != "-" else {"height": 1, "width": 1}
    out |= dict(do_center_crop=crop != "-", do_rescale=factor != "-", do_normalize=normalize != "-")
    if crop != "-":
        out["crop_size"] = dict(zip(("height", "width"), map(int, crop.split(":"))))
    if factor != "-":
        out["rescale_factor"] = FACTOR if factor == "F" else float(factor)
    if normalize != "-":
        out["image_mean"], out["image_std"] = IMAGENET
    return out


def main():
    (HERE / "processor").mkdir(exist_ok=True)
    for old in (HERE / "processor").glob("*"):
        old.unlink()
    lines = []
    for line in CASES.strip().splitlines():
        name, picture, dtype, h, w, c, kind, convert, *rest = line.split()
        x = {"ramp": ramp, "checker": checker}[picture](int(h), int(w), int(c))
        x = {"u8": x, "f32": x.astype(np.float32), "unit": x.astype(np.float32) / np.float32(255)}[dtype]
        cls = BitImageProcessor if kind == "bit" else DINOv3ViTImageProcessor
        y = cls(**options(*rest, convert))(x, input_data_format="channels_last")["pixel_values"][0].numpy().astype("<f4")
        (HERE / "processor" / f"{name}.f32").write_bytes(y.tobytes())
        lines.append(" ".join(line.split() + [str(n) for n in y.shape]))
    (HERE / "processor.txt").write_text("\n".join(lines).replace(" F ", f" {FACTOR} ") + "\n")
    print(len(lines), "cases")


if __name__ == "__main__":
    main()
