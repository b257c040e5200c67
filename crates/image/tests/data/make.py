"""Makes the pictures of this folder, and what Transformers sees in each.

Run in a Python with transformers 5.24.0, torch, torchvision, Pillow 13.0.0, numpy and tifffile:

    python make.py            # in crates/image/tests/data

For each picture NAME two files of raw RGB bytes are written: NAME.rgb, what `transformers.image_utils.load_image` gives, and,
where it differs, NAME.white, what BitImageProcessor's do_convert_rgb makes of that. `manifest.txt` has a line for each:
name, width, height, largest difference allowed, mean difference allowed. A tolerance is 0 unless the decoder here is
another one than Pillow's (JPEG inside TIFF).

One deliberate difference: 16-bit grey is scaled by its high byte, where Pillow saturates.
"""

import io
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import tifffile
from PIL import Image
from transformers.image_transforms import convert_to_rgb
from transformers.image_utils import load_image

warnings.simplefilter("ignore")
HERE = Path(__file__).parent
W, H = 19, 13
LINES = []


def ramp(channels, high=255, width=W, height=H):
    """A picture in which no two neighbours are alike and no corner repeats."""
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return ((x * 13 + y * 29 + c * 71 + x * y * (c + 1)) % (high + 1)).astype(np.uint16)


def smooth(width=40, height=28):
    """A photograph-like picture: gradients and one edge."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    r = 40 + 180 * x / width
    g = 220 - 160 * y / height
    b = 90 + 60 * np.sin(x / 5) * np.cos(y / 4)
    picture = np.stack([r, g, b], -1)
    picture[height // 3 : height // 2, width // 4 : width // 2] = (240, 30, 60)
    return picture.round().astype(np.uint8)


def corners(width=60, height=40):
    """Four different quarters."""
    picture = np.zeros((height, width, 3), np.uint8)
    picture[: height // 2, : width // 2] = (250, 20, 20)
    picture[: height // 2, width // 2 :] = (20, 250, 20)
    picture[height // 2 :, : width // 2] = (20, 20, 250)
    picture[height // 2 :, width // 2 :] = (240, 240, 240)
    return picture


def keep(name, data, expected=None, most=0, mean=0.0):
    """Writes a picture and what is expected of it; returns its bytes."""
    data = data if isinstance(data, bytes) else data.getvalue()
    (HERE / name).write_bytes(data)
    seen = load_image(str(HERE / name))
    rgb = np.asarray(seen) if expected is None else expected.astype(np.uint8)
    white = convert_to_rgb(seen, return_numpy=True) if expected is None else rgb
    (HERE / f"{name}.rgb").write_bytes(rgb.tobytes())
    if not np.array_equal(white, rgb):
        (HERE / f"{name}.white").write_bytes(white.tobytes())
    LINES.append(f"{name} {rgb.shape[1]} {rgb.shape[0]} {most} {mean}")
    return data


def saved(image, **options):
    out = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(out, **options)
    return out.getvalue()


# ---------------------------------------------------------------- PNG

ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_rows(samples, depth):
    rows = []
    for row in samples.reshape(samples.shape[0], -1):
        if depth == 16:
            packed = row.astype(">u2").tobytes()
        elif depth == 8:
            packed = row.astype(np.uint8).tobytes()
        else:
            bits = "".join(format(int(v), f"0{depth}b") for v in row)
            bits += "0" * (-len(bits) % 8)
            packed = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))
        rows.append(b"\0" + packed)
    return b"".join(rows)


def png(samples, color, depth, before=(), after=(), interlaced=False):
    height, width = samples.shape[:2]
    if interlaced:
        passes = [samples[y0::dy, x0::dx] for x0, y0, dx, dy in ADAM7]
        data = b"".join(png_rows(p, depth) for p in passes if p.size)
    else:
        data = png_rows(samples, depth)
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced))
    chunks = [(b"IHDR", header), *before, (b"IDAT", zlib.compress(data)), *after, (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*c) for c in chunks)


def pngs():
    for depth in (1, 2, 4, 8):
        keep(f"png-grey-{depth}.png", png(ramp(1, 2**depth - 1), 0, depth))
    grey16 = ramp(1, 65535) * 251
    high = np.repeat((grey16 >> 8).astype(np.uint8), 3, -1)
    keep("png-grey-16.png", png(grey16, 0, 16), high)
    keep("png-grey-16-key.png", png(grey16, 0, 16, [(b"tRNS", struct.pack(">H", int(grey16[3, 3, 0])))]), high)
    keep("png-rgb-8.png", png(ramp(3), 2, 8))
    keep("png-rgb-16.png", png(ramp(3, 65535) * 251, 2, 16))
    keep("png-grey-alpha-8.png", png(ramp(2), 4, 8))
    keep("png-grey-alpha-16.png", png(ramp(2, 65535) * 251, 4, 16))
    keep("png-rgba-8.png", png(ramp(4), 6, 8))
    keep("png-rgba-16.png", png(ramp(4, 65535) * 251, 6, 16))

    palette = np.random.default_rng(0).integers(0, 256, (256, 3)).astype(np.uint8)
    for depth in (1, 2, 4, 8):
        colors = palette[: 2**depth].tobytes()
        keep(f"png-palette-{depth}.png", png(ramp(1, 2**depth - 1), 3, depth, [(b"PLTE", colors)]))
    short = [(b"PLTE", palette[:100].tobytes())]
    keep("png-palette-short.png", png(ramp(1, 139), 3, 8, short))

    # tRNS: one transparent entry (also where another entry has its colour), and several.
    twice = palette[:200].copy()
    twice[7] = twice[5]
    keep("png-palette-key.png", png(ramp(1, 199), 3, 8, [(b"PLTE", twice.tobytes()), (b"tRNS", b"\xff" * 5 + b"\0")]))
    keep("png-palette-alpha.png", png(ramp(1, 199), 3, 8, [(b"PLTE", twice.tobytes()), (b"tRNS", bytes(range(0, 200, 2)))]))
    for depth, key in ((1, 0), (1, 1), (2, 0), (2, 2), (4, 0), (4, 9), (8, 84)):
        trns = [(b"tRNS", struct.pack(">H", key))]
        keep(f"png-grey-{depth}-key-{key}.png", png(ramp(1, 2**depth - 1), 0, depth, trns))
    rgb = ramp(3)
    keep("png-rgb-8-key.png", png(rgb, 2, 8, [(b"tRNS", struct.pack(">HHH", *map(int, rgb[4, 6])))]))
    rgb16 = ramp(3, 65535) * 251
    rgb16[2, 2] = (0x1234, 0x5678, 0x9ABC)
    rgb16[3, 3] = (0x3400, 0x7811, 0xBC22)
    keep("png-rgb-16-key.png", png(rgb16, 2, 16, [(b"tRNS", struct.pack(">HHH", 0x1234, 0x5678, 0x9ABC))]))

    keep("png-interlaced-rgb-8.png", png(ramp(3), 2, 8, interlaced=True))
    keep("png-interlaced-grey-1.png", png(ramp(1, 1), 0, 1, interlaced=True))
    keep("png-interlaced-rgba-16.png", png(ramp(4, 65535) * 251, 6, 16, interlaced=True))
    keep("png-interlaced-palette-4.png", png(ramp(1, 15), 3, 4, [(b"PLTE", palette[:16].tobytes())], interlaced=True))
    frames = [Image.fromarray(np.roll(smooth(), i)) for i in range(3)]
    keep("png-animated.png", saved(frames[0], format="PNG", save_all=True, append_images=frames[1:]))
    hidden = np.zeros((32, 32, 4), np.uint16)
    hidden[..., 0] = 255
    keep("png-hidden-red.png", png(hidden, 6, 8))


# ---------------------------------------------------------------- JPEG


def without_segment(data, marker):
    """Removes the first segment of a kind."""
    at = 2
    while True:
        length = struct.unpack(">H", data[at + 2 : at + 4])[0]
        if data[at + 1] == marker:
            return data[:at] + data[at + 2 + length :]
        at += 2 + length


def scan_starts(data):
    return [i for i in range(len(data) - 1) if data[i] == 0xFF and data[i + 1] == 0xDA]


def jpegs():
    picture = smooth(75, 51)
    for name, options in {
        "444": dict(quality=92, subsampling=0),
        "422": dict(quality=75, subsampling=1),
        "420": dict(quality=60, subsampling=2),
        "411": dict(quality=85, subsampling="4:1:1"),
        "progressive": dict(quality=80, progressive=True),
        "progressive-444": dict(quality=95, progressive=True, subsampling=0),
        "restarts": dict(quality=80, restart_marker_blocks=3),
        "rgb": dict(quality=90, keep_rgb=True),
    }.items():
        keep(f"jpeg-{name}.jpg", saved(picture, format="JPEG", **options))
    keep("jpeg-tiny.jpg", saved(picture[:1, :1], format="JPEG"))
    keep("jpeg-grey.jpg", saved(Image.fromarray(picture).convert("L"), format="JPEG", quality=80))

    # Ink: with the Adobe marker, without it, and declared YCCK.
    beige = np.full((64, 64, 3), (245, 235, 215), np.uint8)
    beige[20:40, 20:40] = smooth(20, 20)
    cmyk = keep("jpeg-cmyk.jpg", saved(Image.fromarray(beige).convert("CMYK"), format="JPEG", quality=95))
    keep("jpeg-cmyk-no-marker.jpg", without_segment(cmyk, 0xEE))
    at = cmyk.index(b"Adobe")
    keep("jpeg-ycck.jpg", cmyk[: at + 11] + b"\x02" + cmyk[at + 12 :])

    # A complete file that is coarse: the last scans of a progressive one are missing, its end mark is there.
    progressive = saved(picture, format="JPEG", quality=80, progressive=True)
    starts = scan_starts(progressive)
    keep("jpeg-coarse.jpg", progressive[: starts[len(starts) // 2]] + b"\xff\xd9")
    # A phone's sequential file whose scan header says that the spectrum ends at 0.
    baseline = bytearray(saved(picture, format="JPEG", quality=80))
    start = scan_starts(baseline)[0]
    length = struct.unpack(">H", baseline[start + 2 : start + 4])[0]
    assert baseline[start + length] == 63
    baseline[start + length] = 0
    keep("jpeg-spectral-end-0.jpg", bytes(baseline))


# ---------------------------------------------------------------- orientation

UNDO = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE", 6: "ROTATE_90", 7: "TRANSVERSE", 8: "ROTATE_270"}


def stored(tag):
    """The four corners as a camera stores them under this tag."""
    image = Image.fromarray(corners())
    return image.transpose(getattr(Image.Transpose, UNDO[tag])) if tag in UNDO else image


def exif(tag):
    block = Image.Exif()
    block[0x0112] = tag
    return block.tobytes()


def orientations():
    for tag in range(1, 10):
        keep(f"orientation-{tag}.jpg", saved(stored(tag), format="JPEG", quality=95, subsampling=0, exif=exif(tag)))
    for tag in (5, 6):
        keep(f"orientation-{tag}.png", saved(stored(tag), format="PNG", exif=exif(tag)))
        keep(f"orientation-{tag}.webp", saved(stored(tag), format="WEBP", lossless=True, exif=exif(tag)))
        keep(f"orientation-{tag}.tif", saved(stored(tag), format="TIFF", tiffinfo={274: tag}))
    packet = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="%d"/></x:xmpmeta>'
    pixels = np.asarray(stored(6))
    keep("orientation-xmp.jpg", saved(stored(6), format="JPEG", quality=95, subsampling=0, xmp=packet % 6))
    keep("orientation-xmp.webp", saved(stored(6), format="WEBP", lossless=True, xmp=packet % 6))
    text = b"XML:com.adobe.xmp\0\0\0\0\0" + packet % 6
    keep("orientation-xmp-after.png", png(pixels, 2, 8, after=[(b"iTXt", text)]))
    keep("orientation-exif-after.png", png(pixels, 2, 8, after=[(b"eXIf", exif(6)[6:])]))
    profile = exif(6)
    raw = b"\nexif\n%8d\n" % len(profile) + profile.hex().encode() + b"\n"
    keep("orientation-raw-profile.png", png(pixels, 2, 8, [(b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(raw))]))
    both = saved(stored(8), format="JPEG", quality=95, subsampling=0, exif=exif(8), xmp=packet % 3)
    keep("orientation-exif-wins.jpg", both)


# ---------------------------------------------------------------- GIF


def gif_frame(indices, left=0, top=0, palette=None, transparent=None, size=(W, H)):
    """A hand-made GIF: the indices are stored with clear codes, so that no compressor is needed."""
    out = b"GIF89a" + struct.pack("<HHBBB", *size, 0xF7, 0, 0)
    out += np.random.default_rng(3).integers(0, 256, (256, 3)).astype(np.uint8).tobytes()
    if transparent is not None:
        out += b"!\xf9\x04" + bytes([1, 0, 0, transparent]) + b"\0"
    height, width = indices.shape
    out += b"," + struct.pack("<HHHHB", left, top, width, height, 0 if palette is None else 0x87)
    out += b"" if palette is None else palette
    bits = "".join(f"{code:09b}"[::-1] for v in indices.ravel() for code in (256, int(v))) + f"{257:09b}"[::-1]
    bits += "0" * (-len(bits) % 8)
    data = bytes(int(bits[i : i + 8][::-1], 2) for i in range(0, len(bits), 8))
    out += b"\x08" + b"".join(bytes([len(data[i : i + 255])]) + data[i : i + 255] for i in range(0, len(data), 255))
    return out + b"\0;"


def gifs():
    indices = ramp(1)[..., 0]
    keep("gif-plain.gif", gif_frame(indices))
    keep("gif-key.gif", gif_frame(indices, transparent=42))
    keep("gif-small-frame.gif", gif_frame(indices[:5, :6], 3, 4))
    keep("gif-small-frame-key.gif", gif_frame(indices[:5, :6], 3, 4, transparent=42))
    keep("gif-frame-over-edge.gif", gif_frame(indices, 2, 3))
    keep("gif-grey.gif", gif_frame(indices, palette=bytes(v for i in range(256) for v in (i, i, i)), transparent=9))
    keep("gif-local-palette.gif", gif_frame(indices, palette=np.random.default_rng(4).integers(0, 256, 768).astype(np.uint8).tobytes()))
    frames = [Image.fromarray(np.roll(smooth(), 40 * i)).quantize(32) for i in range(3)]
    keep("gif-animated.gif", saved(frames[0], format="GIF", save_all=True, append_images=frames[1:], duration=40))
    keep("gif-interlaced.gif", saved(frames[0], format="GIF", interlace=1))


# ---------------------------------------------------------------- WebP


def riff(chunks):
    body = b"WEBP" + b"".join(k + struct.pack("<I", len(d)) + d + b"\0" * (len(d) % 2) for k, d in chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def webps():
    picture = smooth(75, 51)
    alpha = np.dstack([picture, np.add.outer(np.arange(51) * 2, np.arange(75) * 2).astype(np.uint8)])
    keep("webp-lossy.webp", saved(picture, format="WEBP", quality=80))
    keep("webp-lossy-alpha.webp", saved(alpha, format="WEBP", quality=80, exact=True))
    keep("webp-lossless.webp", saved(picture, format="WEBP", lossless=True))
    keep("webp-lossless-alpha.webp", saved(alpha, format="WEBP", lossless=True, exact=True))
    frames = [Image.fromarray(np.roll(picture, 75 * i)) for i in range(3)]
    keep("webp-animated.webp", saved(frames[0], format="WEBP", save_all=True, append_images=frames[1:], lossless=True))
    # A first frame smaller than its canvas.
    still = saved(picture[:20, :30], format="WEBP", lossless=True)
    bitstream = still[still.index(b"VP8L") :]
    three = lambda v: struct.pack("<I", v)[:3]
    frame = three(3) + three(5) + three(29) + three(19) + three(100) + b"\0" + bitstream
    vp8x = bytes([0x02, 0, 0, 0]) + three(74) + three(50)
    anim = struct.pack("<IH", 0xFF112233, 0)
    keep("webp-small-frame.webp", riff([(b"VP8X", vp8x), (b"ANIM", anim), (b"ANMF", frame)]))


# ---------------------------------------------------------------- BMP


def bmp(pixels, width, height, bits, compression=0, palette=b"", masks=b"", size=40):
    header = struct.pack("<IiiHHIIiiII", size, width, height, 1, bits, compression, len(pixels), 2835, 2835, len(palette) // 4, 0)
    header = (header + masks).ljust(size, b"\0") if size > 40 else header + masks
    offset = 14 + len(header) + len(palette)
    return b"BM" + struct.pack("<IHHI", offset + len(pixels), 0, 0, offset) + header + palette + pixels


def bmps():
    rgb = ramp(3).astype(np.uint8)
    for mode in ("1", "L", "P", "RGB"):
        keep(f"bmp-{mode.lower()}.bmp", saved(Image.fromarray(rgb).convert(mode), format="BMP"))
    keep("bmp-rgba.bmp", saved(ramp(4).astype(np.uint8), format="BMP"))
    words = (ramp(1, 65535) * 251)[..., 0]
    rows = b"".join(row.astype("<u2").tobytes() + b"\0" * (-2 * W % 4) for row in words)
    keep("bmp-555.bmp", bmp(rows, W, H, 16))
    masks = struct.pack("<III", 0xF800, 0x7E0, 0x1F)
    keep("bmp-565.bmp", bmp(rows, W, H, 16, 3, masks=masks))
    keep("bmp-565-top-down.bmp", bmp(rows, W, -H, 16, 3, masks=masks))
    keep("bmp-32.bmp", bmp(ramp(4).astype(np.uint8).tobytes(), W, H, 32))
    masks = struct.pack("<IIII", 0xFF, 0xFF00, 0xFF0000, 0xFF000000)
    keep("bmp-v5-rgba.bmp", bmp(ramp(4).astype(np.uint8).tobytes(), W, H, 32, 3, masks=masks, size=124))
    palette = np.random.default_rng(5).integers(0, 256, (256, 4)).astype(np.uint8).tobytes()
    runs = b"".join(bytes([7, 10 * y, 0, 5, 1, 2, 3, 4, 5, 0, 7, y]) + b"\0\0" for y in range(H)) + b"\0\1"
    keep("bmp-rle8.bmp", bmp(runs, W, H, 8, 1, palette))
    runs = b"".join(bytes([7, 0x1F ^ y, 0, 5, 0x12, 0x34, 0x50, 0, 7, 0xA0 | y]) + b"\0\0" for y in range(H)) + b"\0\1"
    keep("bmp-rle4.bmp", bmp(runs, W, H, 4, 2, palette[:64]))
    four = bytes(v for row in ramp(1, 15)[..., 0] for v in np.append(row, [0] * (-W % 8)).reshape(-1, 2) @ [16, 1])
    keep("bmp-palette-4.bmp", bmp(four, W, H, 4, 0, palette[:40]))
    core = b"BM" + struct.pack("<IHHI", 0, 0, 0, 26) + struct.pack("<IHHHH", 12, W, H, 1, 24)
    rows = b"".join(row.tobytes() + b"\0" * (-3 * W % 4) for row in rgb)
    keep("bmp-os2.bmp", core + rows)


# ---------------------------------------------------------------- TIFF


def tiff(array, **options):
    out = io.BytesIO()
    tifffile.imwrite(out, array, metadata=None, **options)
    return out.getvalue()


def tiffs():
    rgb, rgba = ramp(3).astype(np.uint8), ramp(4).astype(np.uint8)
    image = Image.fromarray(rgb)
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK"):
        keep(f"tiff-{mode.lower()}.tif", saved(image.convert(mode), format="TIFF"))
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits"):
        keep(f"tiff-{compression.replace('_', '-')}.tif", saved(image, format="TIFF", compression=compression))
    keep("tiff-group4.tif", saved(image.convert("1"), format="TIFF", compression="group4"))
    keep("tiff-palette-lzw.tif", saved(image.convert("P"), format="TIFF", compression="tiff_lzw"))
    keep("tiff-jpeg.tif", saved(smooth(), format="TIFF", compression="jpeg", quality=90), most=1, mean=0.01)
    keep("tiff-float.tif", saved(Image.fromarray(ramp(1)[..., 0].astype(np.float32) * 1.5 - 50.25), format="TIFF"))
    keep("tiff-i32.tif", saved(Image.fromarray(ramp(1)[..., 0].astype(np.int32) * 2 - 100), format="TIFF"))
    grey16 = (ramp(1, 65535) * 251)[..., 0]
    keep("tiff-grey-16.tif", tiff(grey16, photometric="minisblack"), np.repeat((grey16 >> 8)[..., None], 3, -1))
    keep("tiff-white-is-zero.tif", tiff(rgb[..., 0], photometric="miniswhite"))
    keep("tiff-rgb-16.tif", tiff(ramp(3, 65535) * 251, photometric="rgb"))
    keep("tiff-tiles.tif", tiff(smooth(), photometric="rgb", tile=(16, 16)))
    keep("tiff-strips.tif", tiff(smooth(), photometric="rgb", rowsperstrip=5))
    keep("tiff-planar.tif", tiff(np.ascontiguousarray(rgb.transpose(2, 0, 1)), photometric="rgb", planarconfig="separate"))
    keep("tiff-big.tif", tiff(rgb, photometric="rgb", bigtiff=True))
    keep("tiff-big-endian.tif", tiff(ramp(3, 65535) * 251, photometric="rgb", byteorder=">"))
    keep("tiff-associated-alpha.tif", tiff(rgba, photometric="rgb", extrasamples=["assocalpha"]))
    pages = [Image.fromarray(np.roll(rgb, i)) for i in range(2)]
    keep("tiff-pages.tif", saved(pages[0], format="TIFF", save_all=True, append_images=pages[1:]))


if __name__ == "__main__":
    for old in HERE.glob("*"):
        if old.is_file() and old.name not in ("make.py", "processor.py", "processor.txt"):
            old.unlink()
    for make in (pngs, jpegs, orientations, gifs, webps, bmps, tiffs):
        make()
    (HERE / "manifest.txt").write_text("\n".join(LINES) + "\n")
    print(len(LINES), "pictures,", sum(f.stat().st_size for f in HERE.glob("*")), "bytes")
