//! Every case of `fixtures/processor/cases.json`: a picture, a processor config, and what Transformers made of them; before
//! normalising within the processors' bounds. Cases that Transformers refuses must be refused.

use crate::fixtures::{fixture, root};
use dinoxide::{Error, ImageProcessor, Picture, ProcessorConfig};
use dinoxide_image::Rgb8;
use dinoxide_testkit::tolerance::{PROCESSOR_FLOAT_MAX_ABS, PROCESSOR_MAX_LEVELS, PROCESSOR_MEAN_LEVELS};
use ndarray::Array3;
use safetensors::SafeTensors;
use serde_json::Value;
use std::{collections::HashMap, path::Path};

/// What is compared with a golden.
struct Want {
    shape: Vec<usize>,
    /// Levels of 255, when the processor gives bytes.
    levels: bool,
    values: Option<Vec<f32>>,
}

fn run(case: &Value) -> Result<Array3<f32>, Error> {
    let config = ProcessorConfig::from_json(Path::new("case"), case["config"].to_string().as_bytes(), None)?;
    let processor = ImageProcessor::from_config(&config)?;
    let picture = case["picture"].as_str().unwrap();
    match picture.strip_prefix("checkerboard:") {
        Some(size) => processor.process(&checkerboard(size)),
        None => processor.open(root().join(picture)),
    }
}

/// The formula of `tools/golden/synthetic.py`.
fn checkerboard(size: &str) -> Picture {
    let (width, height) = size.split_once('x').unwrap();
    let (width, height): (usize, usize) = (width.parse().unwrap(), height.parse().unwrap());
    let pixel = |i: usize| {
        let (x, y) = (i % width, i / width);
        let c = if (x + y) % 2 == 0 { 255 } else { 0 };
        let (rx, ry) = (x * 255 / (width - 1), y * 255 / (height - 1));
        [(c + rx) / 2, (c + ry) / 2, (c + 255 - rx) / 2].map(|v| v as u8)
    };
    Rgb8::from_raw(width, height, (0..width * height).flat_map(pixel).collect()).unwrap().into()
}

fn want(case: &Value, files: &mut HashMap<String, Vec<u8>>) -> Want {
    let expect = &case["expect"];
    let shape = expect["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let levels = expect["kind"] == "u8";
    let values = expect["file"].as_str().map(|file| {
        let bytes = files
            .entry(file.to_owned())
            .or_insert_with(|| std::fs::read(fixture("processor").join(file)).unwrap());
        let tensors = SafeTensors::deserialize(bytes).unwrap();
        let data = tensors.tensor(expect["tensor"].as_str().unwrap()).unwrap().data().to_vec();
        match levels {
            true => data.iter().map(|&v| f32::from(v)).collect(),
            false => data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect(),
        }
    });
    Want { shape, levels, values }
}

/// The scale of a channel: what one unit before normalising becomes.
fn std_of(case: &Value, channel: usize) -> f32 {
    let std = &case["config"]["image_std"];
    match case["config"]["do_normalize"].as_bool() {
        Some(false) => 1.0,
        // Where the config has none: the largest of the classes' defaults, so that no difference is made smaller.
        _ => std.get(channel).or(std.get(0)).unwrap_or(std).as_f64().unwrap_or(0.275_777_11) as f32,
    }
}

/// The largest and the mean difference before normalising, in levels of 255 or of 1.
fn differences(case: &Value, got: &Array3<f32>, want: &[f32]) -> (f32, f32) {
    let plane = got.dim().1 * got.dim().2;
    let difference = |(i, (g, w)): (usize, (&f32, &f32))| (g - w).abs() * std_of(case, i / plane);
    let all: Vec<f32> = got.iter().zip(want).enumerate().map(difference).collect();
    let worst = all.iter().fold(0.0_f32, |worst, &d| if d.is_nan() { f32::INFINITY } else { worst.max(d) });
    (worst, all.iter().sum::<f32>() / all.len() as f32)
}

/// Whether the steps before normalising round to bytes, so that one rounding may be a whole level.
fn in_bytes(case: &Value) -> bool {
    case["config"]["image_processor_type"].as_str().is_some_and(|name| name.starts_with("Bit"))
}

fn check(case: &Value, files: &mut HashMap<String, Vec<u8>>) -> Result<(), String> {
    let name = case["name"].as_str().unwrap();
    let result = run(case);
    if case["error"] == true {
        return if result.is_err() { Ok(()) } else { Err(format!("{name}: accepted, must be refused")) };
    }
    let got = result.map_err(|error| format!("{name}: {error}"))?;
    let want = want(case, files);
    if got.shape() != want.shape {
        return Err(format!("{name}: shape {:?}, expected {:?}", got.shape(), want.shape));
    }
    let Some(values) = want.values else { return Ok(()) };
    let (worst, mean) = differences(case, &got, &values);
    let unit = if want.levels || case["config"]["do_rescale"] == false { 1.0 } else { 1.0 / 255.0 };
    let (most, most_mean) = match in_bytes(case) {
        true => (PROCESSOR_MAX_LEVELS * unit, PROCESSOR_MEAN_LEVELS * unit),
        false => (PROCESSOR_FLOAT_MAX_ABS * 255.0 * unit, PROCESSOR_FLOAT_MAX_ABS * 255.0 * unit),
    };
    if worst <= most && mean <= most_mean {
        Ok(())
    } else {
        Err(format!("{name}: max {worst}, mean {mean} (allowed {most}, {most_mean})"))
    }
}

#[test]
fn every_processor_case_is_what_transformers_gives() {
    let cases: Vec<Value> =
        serde_json::from_slice(&std::fs::read(fixture("processor/cases.json")).unwrap()).unwrap();
    assert!(cases.len() >= 300, "{}", cases.len());
    let mut files = HashMap::new();
    let failed: Vec<String> = cases.iter().filter_map(|case| check(case, &mut files).err()).collect();
    assert!(failed.is_empty(), "{} of {} cases:\n{}", failed.len(), cases.len(), failed.join("\n"));
}
