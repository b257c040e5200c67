//! Decoding and resizing against peers: first how far each is from the reference, then how long it takes.
//!
//! `benchmarks/decode-and-resize.py DIR` makes the pictures and the reference (Pillow, torchvision) and times both;
//! `cargo bench -p dinoxide-image --bench decode_and_resize -- DIR` runs this over them. Without DIR it says so and ends.
//! A time is the least of several rounds on one thread.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench prints, and stops when its input is not there"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dinoxide_image::{
    DecodeOptions, HeightWidth, Normalize, Order, Picture, ProcessorSpec, Resample, Resize, Rgb8, Size,
    decode, process,
};
use fast_image_resize as fir;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let Some(folder) = folder.map(PathBuf::from) else {
        println!("give the folder that benchmarks/decode-and-resize.py has filled");
        return;
    };
    println!("JPEG decoders against Pillow");
    jpeg(&folder, "dinoxide", |bytes| decode(bytes, &DecodeOptions::default()).unwrap().pixels.data);
    jpeg(&folder, "zune-jpeg", |bytes| {
        let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
        zune_jpeg::JpegDecoder::new_with_options(ZCursor::new(bytes), options).decode().unwrap()
    });
    println!("byte resize, short side 256, against torchvision");
    for name in ["512x512", "1920x1080", "4000x3000"] {
        resizers(&folder, name);
    }
    println!("whole processors");
    for name in ["512x512", "1920x1080", "4000x3000"] {
        processors(&folder, name);
    }
    println!("files to pixel values");
    for name in ["640x480", "12mp-420", "12mp-444", "12mp-progressive"] {
        whole(&folder, name);
    }
}

/// The least time of some rounds.
fn time<T>(mut run: impl FnMut() -> T) -> Duration {
    let start = Instant::now();
    black_box(run());
    // About a second in all, at least 5 rounds.
    let rounds = (1.0 / start.elapsed().as_secs_f64()).clamp(5.0, 500.0) as u32;
    let one = |_| {
        let start = Instant::now();
        black_box(run());
        start.elapsed()
    };
    (0..rounds).map(one).min().unwrap_or_default()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Largest difference, and sum of differences.
fn difference(got: &[u8], want: &[u8]) -> (u8, u64) {
    assert_eq!(got.len(), want.len());
    let off = got.iter().zip(want).map(|(a, b)| a.abs_diff(*b));
    off.fold((0, 0), |(most, sum), d| (d.max(most), sum + u64::from(d)))
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == ending)).collect();
    files.sort();
    files
}

fn jpeg(folder: &Path, name: &str, decoder: impl Fn(&[u8]) -> Vec<u8>) {
    let (mut most, mut sum, mut samples, mut equal, mut count) = (0, 0, 0, 0, 0);
    for path in files(folder, "jpg") {
        let bytes = std::fs::read(&path).unwrap();
        let got = decoder(&bytes);
        let off = difference(&got, &std::fs::read(path.with_extension("rgb")).unwrap());
        (most, sum, samples) = (off.0.max(most), sum + off.1, samples + got.len());
        (equal, count) = (equal + usize::from(off.0 == 0), count + 1);
        if path
            .file_stem()
            .is_some_and(|stem| stem.to_string_lossy().starts_with(|c: char| c.is_ascii_digit()))
        {
            let time = milliseconds(time(|| decoder(&bytes)));
            println!("  {name}: {} in {time:.1} ms", path.file_name().unwrap().display());
        }
    }
    let mean = sum as f64 / samples as f64;
    println!("  {name}: {equal} of {count} files equal, off by up to {most}, mean {mean:.4}");
}

/// The noise picture `WIDTHxHEIGHT.raw`.
fn noise(folder: &Path, name: &str) -> Rgb8 {
    let (width, height) = name.split_once('x').unwrap();
    let data = std::fs::read(folder.join(format!("{name}.raw"))).unwrap();
    Rgb8::from_raw(width.parse().unwrap(), height.parse().unwrap(), data).unwrap()
}

fn resizers(folder: &Path, name: &str) {
    let pixels = noise(folder, name);
    let size = Size::ShortestEdge(256);
    let (height, width) = size.output(pixels.height, pixels.width).unwrap();
    for (kind, resample, filter) in [
        ("bicubic", Resample::Bicubic, fir::FilterType::CatmullRom),
        ("bilinear", Resample::Bilinear, fir::FilterType::Bilinear),
    ] {
        let want = std::fs::read(folder.join(format!("{name}.{kind}"))).unwrap();
        let picture = Picture::from(pixels.clone());
        let spec = ProcessorSpec { resize: Some(Resize { size, resample }), ..ProcessorSpec::default() };
        let planes = process(&picture, &spec).unwrap().data;
        let got: Vec<u8> =
            (0..height * width * 3).map(|i| planes[i % 3 * height * width + i / 3] as u8).collect();
        report(
            "dinoxide",
            name,
            kind,
            difference(&got, &want),
            time(|| process(&picture, &spec).unwrap()),
            want.len(),
        );

        let side = |n: usize| u32::try_from(n).unwrap();
        let (w, h) = (side(pixels.width), side(pixels.height));
        let source = fir::images::ImageRef::new(w, h, &pixels.data, fir::PixelType::U8x3).unwrap();
        let mut out = fir::images::Image::new(side(width), side(height), fir::PixelType::U8x3);
        let options = fir::ResizeOptions::new().resize_alg(fir::ResizeAlg::Convolution(filter));
        let mut resizer = fir::Resizer::new();
        let time = time(|| resizer.resize(&source, &mut out, &options).unwrap());
        report("fast_image_resize", name, kind, difference(out.buffer(), &want), time, want.len());
    }
}

fn report(who: &str, name: &str, kind: &str, off: (u8, u64), time: Duration, samples: usize) {
    let (most, mean) = (off.0, off.1 as f64 / samples as f64);
    println!("  {who}: {name} {kind} in {:.2} ms, off by up to {most}, mean {mean:.4}", milliseconds(time));
}

/// The processors of DINOv2 and DINOv3.
fn specs() -> [(&'static str, ProcessorSpec); 2] {
    let normalize = Some(Normalize { mean: vec![0.485, 0.456, 0.406], std: vec![0.229, 0.224, 0.225] });
    let dinov2 = ProcessorSpec {
        do_convert_rgb: true,
        resize: Some(Resize { size: Size::ShortestEdge(256), resample: Resample::Bicubic }),
        center_crop: Some(HeightWidth { height: 224, width: 224 }),
        rescale: Some(1.0 / 255.0),
        normalize: normalize.clone(),
        ..ProcessorSpec::default()
    };
    let dinov3 = ProcessorSpec {
        order: Order::RescaleFirst,
        resize: Some(Resize { size: Size::Exact { height: 224, width: 224 }, resample: Resample::Bilinear }),
        rescale: Some(1.0 / 255.0),
        normalize,
        ..ProcessorSpec::default()
    };
    [("dinov2", dinov2), ("dinov3", dinov3)]
}

fn processors(folder: &Path, name: &str) {
    let picture = Picture::from(noise(folder, name));
    for (kind, spec) in specs() {
        println!("  {name} {kind} in {:.2} ms", milliseconds(time(|| process(&picture, &spec).unwrap())));
    }
}

fn whole(folder: &Path, name: &str) {
    let bytes = std::fs::read(folder.join(format!("{name}.jpg"))).unwrap();
    for (kind, spec) in specs() {
        let run = || process(&decode(&bytes, &DecodeOptions::default()).unwrap(), &spec).unwrap();
        println!("  {name}.jpg {kind} in {:.2} ms", milliseconds(time(run)));
    }
}
