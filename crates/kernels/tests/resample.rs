//! Position tables resized as torch resizes them: goldens by `data/resample.py`.

use dinoxide_kernels::resample::{AxisWeights, resample, resample_with};
use dinoxide_kernels::{Context, ContextOptions, Isa};
use dinoxide_testkit::compare::assert_close;
use dinoxide_testkit::data::hash32;

/// Tables are of order 1 (here ±2).
const MAX_ABS: f32 = 1e-6;

#[test]
fn tables_of_every_size_equal_those_of_torch() {
    let goldens = include_str!("data/resample.txt");
    assert_eq!(goldens.lines().count(), 27);
    for (seed, line) in goldens.lines().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        let [y_in, x_in, y_out, x_out, channels]: [usize; 5] =
            std::array::from_fn(|i| words[1 + i].parse().unwrap());
        let axis = match words[0] {
            "bicubic" => AxisWeights::bicubic,
            "bicubic_antialias" => AxisWeights::bicubic_antialias,
            _ => AxisWeights::bilinear_antialias,
        };
        let (y, x) = (axis(y_in, y_out), axis(x_in, x_out));
        let bits = |word: &&str| f32::from_bits(u32::from_str_radix(word, 16).unwrap());
        let want: Vec<f32> = words[6..].iter().map(bits).collect();
        let map = hash32(seed as u32, y_in * x_in * channels);
        let name = &line[..line.len().min(50)];
        assert_close(name, &resample(&map, channels, &y, &x), &want, MAX_ABS);
        for isa in Isa::available() {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(2) }).unwrap();
            assert_close(name, &resample_with(&ctx, &map, channels, &y, &x), &want, MAX_ABS);
        }
    }
}
