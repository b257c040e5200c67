"""Makes pictures/ (photographs) and fixtures/pictures/ (awkward files).

    python make_pictures.py
"""

from __future__ import annotations

import io
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, TiffImagePlugin

import jpeg
import png
from common import FIXTURES, ROOT
from synthetic import ramp, ramp_array

PHOTOGRAPHS = ROOT / "pictures"
AWKWARD = FIXTURES / "pictures"
WIDTH, HEIGHT = 48, 32
ORIENTATION = 0x0112
STORED_AS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}
"""How the upright picture is turned before it is stored with that tag."""
XMP = (
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    b'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/" tiff:Orientation="6"/></rdf:RDF></x:xmpmeta>'
)

Files = dict[str, bytes]


def encoded(picture: Image.Image, kind: str, **options: object) -> bytes:
    """The picture as the bytes of a file."""
    buffer = io.BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def photographs() -> Files:
    """Photographs that ship with scikit-image: the files as they are, or as JPEG where they are big PNGs."""
    source = files("skimage") / "data"
    kept = {name: (source / name).read_bytes() for name in ("chelsea.png", "rocket.jpg", "retina.jpg", "camera.png")}
    astronaut, coffee = (Image.open(io.BytesIO((source / f"{n}.png").read_bytes())) for n in ("astronaut", "coffee"))
    kept["astronaut.jpg"] = encoded(Image.fromarray(np.asarray(astronaut)), "JPEG", quality=90)
    kept["coffee.jpg"] = encoded(Image.fromarray(np.asarray(coffee)), "JPEG", quality=92, progressive=True, subsampling=0)
    return kept


def with_alpha() -> Image.Image:
    """RGBA whose left third is transparent over pure red, with alpha rising to the right of it."""
    pixels = ramp_array(WIDTH, HEIGHT)
    alpha = np.broadcast_to((np.arange(WIDTH) * 255 // (WIDTH - 1)).astype(np.uint8), (HEIGHT, WIDTH)).copy()
    alpha[:, : WIDTH // 3] = 0
    pixels[:, : WIDTH // 3] = (255, 0, 0)
    return Image.fromarray(np.dstack([pixels, alpha]))


def plain_pngs() -> Files:
    """Every colour kind that Pillow writes."""
    base = ramp(WIDTH, HEIGHT)
    palette = base.quantize(32, dither=Image.Dither.NONE)
    return {
        "rgb.png": encoded(base, "PNG"),
        "grey.png": encoded(base.convert("L"), "PNG"),
        "grey-alpha.png": encoded(with_alpha().convert("LA"), "PNG"),
        "palette.png": encoded(palette, "PNG"),
        "palette-4-bit.png": encoded(base.quantize(12, dither=Image.Dither.NONE), "PNG", bits=4),
        "palette-trns.png": encoded(palette, "PNG", transparency=bytes([0, 128] + [255] * 30)),
        "palette-trns-one-index.png": encoded(palette, "PNG", transparency=bytes([255] * 5 + [0] + [255] * 26)),
        "rgba-over-red.png": encoded(with_alpha(), "PNG"),
        "bilevel.png": encoded(base.convert("1"), "PNG"),
    }


def own_pngs() -> Files:
    """Kinds that Pillow does not write."""
    base = ramp_array(WIDTH, HEIGHT)
    low_bytes = (37 * np.arange(base.size, dtype=np.uint16) % 256).reshape(base.shape)
    wide = base.astype(np.uint16) * 256 + low_bytes
    alpha = np.full((HEIGHT, WIDTH, 1), 40_000, np.uint16)
    ramp16 = np.arange(65_536, dtype=np.uint16).reshape(256, 256, 1)
    grey = np.asarray(Image.fromarray(base).convert("L"))[..., None]
    return {
        "grey-16-bit.png": png.encode(ramp16),
        "grey-alpha-16-bit.png": png.encode(np.concatenate([wide[..., :1], alpha], axis=-1)),
        "rgb-16-bit.png": png.encode(wide),
        "rgba-16-bit.png": png.encode(np.concatenate([wide, alpha], axis=-1)),
        "rgb-interlaced.png": png.encode(base, interlaced=True),
        "grey-trns.png": png.encode(grey, colour_key=(255,)),
        "rgb-trns.png": png.encode(base, colour_key=(255, 0, 0)),
    }


def _ink(picture: Image.Image) -> np.ndarray:
    """CMYK values 0..255 (0 = no ink) with a quarter of the darkness moved to black."""
    cmy = 255 - np.asarray(picture).astype(np.int64)
    black = cmy.min(axis=-1, keepdims=True) // 4
    return np.concatenate([cmy - black, black], axis=-1).astype(np.uint8)


def cmyk_jpegs() -> Files:
    """Four-component files: with the Adobe marker, without it, and as YCCK."""
    beige = Image.new("RGB", (64, 64), (232, 220, 196))
    beige.paste(ramp(24, 24), (20, 20))
    ink = Image.fromarray(_ink(beige), "CMYK")
    adobe = encoded(ink, "JPEG", quality=95)
    ycc = np.asarray(Image.fromarray(np.asarray(ink)[..., :3].copy()).convert("YCbCr"))
    # A decoder turns YCC back into RGB and calls it CMY; Pillow stores inks inverted, so the planes go in inverted.
    ycck = Image.fromarray(np.dstack([255 - ycc, np.asarray(ink)[..., 3:]]), "CMYK")
    return {
        "cmyk-adobe.jpg": adobe,
        "cmyk-no-adobe.jpg": jpeg.without(adobe, jpeg.APP14),
        "ycck.jpg": jpeg.with_adobe_transform(encoded(ycck, "JPEG", quality=95), 2),
    }


def plain_jpegs() -> Files:
    """Baseline, progressive, grey, the samplings, RGB without a colour transform, restart markers, one odd scan header."""
    base = ramp(WIDTH, HEIGHT)
    odd = ramp(WIDTH + 3, HEIGHT + 1)
    return {
        "jpeg-420.jpg": encoded(base, "JPEG", quality=90, subsampling=2),
        "jpeg-422.jpg": encoded(base, "JPEG", quality=90, subsampling=1),
        "jpeg-444.jpg": encoded(base, "JPEG", quality=90, subsampling=0),
        "jpeg-420-odd-size.jpg": encoded(odd, "JPEG", quality=90, subsampling=2),
        "jpeg-progressive.jpg": encoded(base, "JPEG", quality=90, progressive=True),
        "jpeg-grey.jpg": encoded(base.convert("L"), "JPEG", quality=90),
        "jpeg-rgb.jpg": encoded(base, "JPEG", quality=90, keep_rgb=True),
        "jpeg-restart.jpg": encoded(base, "JPEG", quality=90, restart_marker_blocks=2),
        "jpeg-spectral-end-0.jpg": jpeg.with_spectral_end(encoded(base, "JPEG", quality=90), 0),
    }


def _exif(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return exif.tobytes()


def oriented() -> Files:
    """One upright 60 x 40 picture, stored turned in every way; all look alike once the tag is applied."""
    upright = ramp(60, 40)
    turned = {tag: upright.transpose(how) for tag, how in STORED_AS.items()} | {1: upright}
    kept = {f"exif-{tag}.jpg": encoded(p, "JPEG", quality=95, exif=_exif(tag)) for tag, p in sorted(turned.items())}
    tiff = TiffImagePlugin.ImageFileDirectory_v2()
    tiff[ORIENTATION] = 6
    return kept | {
        "exif-9.jpg": encoded(upright, "JPEG", quality=95, exif=_exif(9)),
        "exif-broken.jpg": encoded(upright, "JPEG", quality=95, exif=b"Exif\x00\x00MM\x00*\x00\x00\xff\xff\x01"),
        "exif-6.png": encoded(turned[6], "PNG", exif=_exif(6)),
        "exif-6.webp": encoded(turned[6], "WEBP", lossless=True, exif=_exif(6)),
        "exif-6.tif": encoded(turned[6], "TIFF", tiffinfo=tiff),
        "xmp-6.jpg": encoded(turned[6], "JPEG", quality=95, xmp=XMP),
    }


def other_formats() -> Files:
    """GIF, BMP, TIFF and WebP."""
    base, clear = ramp(WIDTH, HEIGHT), with_alpha()
    palette = base.quantize(32, dither=Image.Dither.NONE)
    later = ImageOps.invert(base).quantize(32, dither=Image.Dither.NONE)
    return {
        "animated.gif": encoded(palette, "GIF", save_all=True, append_images=[later], duration=100, loop=0),
        "transparent.gif": encoded(palette, "GIF", transparency=5),
        "rgb.bmp": encoded(base, "BMP"),
        "palette.bmp": encoded(palette, "BMP"),
        "bilevel.bmp": encoded(base.convert("1"), "BMP"),
        "rgb.tif": encoded(base, "TIFF"),
        "rgb-lzw.tif": encoded(base, "TIFF", compression="tiff_lzw"),
        "rgb-deflate.tif": encoded(base, "TIFF", compression="tiff_adobe_deflate"),
        "grey.tif": encoded(base.convert("L"), "TIFF"),
        "lossy.webp": encoded(base, "WEBP", quality=85),
        "lossless.webp": encoded(base, "WEBP", lossless=True),
        "alpha.webp": encoded(clear, "WEBP", lossless=True, exact=True),
        "lossy-alpha.webp": encoded(clear, "WEBP", quality=85),
        "animated.webp": encoded(base, "WEBP", save_all=True, append_images=[ImageOps.invert(base)], lossless=True),
    }


def broken() -> Files:
    """Files that must be refused, each with an error that names it."""
    big = ramp(120, 90)
    whole, progressive = encoded(big, "JPEG", quality=90), encoded(big, "JPEG", quality=90, progressive=True)
    as_png, as_webp = encoded(big, "PNG"), encoded(big, "WEBP", quality=85)
    return {
        "cut.jpg": whole[: len(whole) * 6 // 10],
        "cut-after-first-scan.jpg": jpeg.after_first_scan(progressive),
        "cut.png": as_png[: len(as_png) * 6 // 10],
        "cut.webp": as_webp[: len(as_webp) * 6 // 10],
        "cut.gif": encoded(big.quantize(64), "GIF")[:900],
        "empty.jpg": b"",
        "text.jpg": b"This is a text, not a picture.\n",
        "bomb.png": png.bomb(100_000, 100_000),
    }


def sizes() -> Files:
    """Thin, tiny and odd sizes (width x height)."""
    shapes = [(1, 3000), (3000, 1), (1, 1), (2, 3), (100, 80), (333, 500), (640, 320), (686, 512)]
    return {f"size-{w}x{h}.png": encoded(ramp(w, h), "PNG", optimize=True) for w, h in shapes}


def write(folder: Path, contents: Files) -> None:
    """Writes the files and says how much they weigh."""
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    print(f"{folder.relative_to(ROOT)}: {len(contents)} files, {sum(map(len, contents.values())) / 1e3:.1f} kB")


def main() -> None:
    PHOTOGRAPHS.mkdir(exist_ok=True)
    write(PHOTOGRAPHS, photographs())
    shutil.rmtree(AWKWARD, ignore_errors=True)
    AWKWARD.mkdir(parents=True)
    groups = (plain_pngs, own_pngs, cmyk_jpegs, plain_jpegs, oriented, other_formats, broken, sizes)
    write(AWKWARD, {name: data for group in groups for name, data in group().items()})


if __name__ == "__main__":
    main()
