//! Position tables resized as torch resizes them, by the kernel on every level that the machine has, and by its naive twin.
//!
//! The goldens, by `data/resample.py`, are maps of values in ±2 of several sizes, grown, shrunk and both, with the rule of
//! each of DINOv2's families: bicubic with and without antialias.

use dinoxide_kernels::resample::{AxisWeights, resample_with};
use dinoxide_kernels::{Context, ContextOptions, Isa, reference};
use dinoxide_testkit::compare::assert_close;
use dinoxide_testkit::data::hash32;
use dinoxide_testkit::tolerance::RESAMPLE_MAX_ABS;

#[test]
fn tables_of_every_size_equal_those_of_torch() {
    let goldens = include_str!("data/resample.txt");
    assert_eq!(goldens.lines().count(), 18);
    for (seed, line) in goldens.lines().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        let [y_in, x_in, y_out, x_out, channels]: [usize; 5] =
            std::array::from_fn(|i| words[1 + i].parse().unwrap());
        let axis = match words[0] {
            "bicubic" => AxisWeights::bicubic,
            _ => AxisWeights::bicubic_antialias,
        };
        let (y, x) = (axis(y_in, y_out), axis(x_in, x_out));
        let bits = |word: &&str| f32::from_bits(u32::from_str_radix(word, 16).unwrap());
        let want: Vec<f32> = words[6..].iter().map(bits).collect();
        let map = hash32(seed as u32, y_in * x_in * channels);
        let name = &line[..line.len().min(50)];
        assert_close(name, &reference::resample(&map, channels, &y, &x), &want, RESAMPLE_MAX_ABS);
        for isa in Isa::available() {
            let ctx = Context::new(ContextOptions { isa: Some(isa), threads: Some(2) }).unwrap();
            assert_close(name, &resample_with(&ctx, &map, channels, &y, &x), &want, RESAMPLE_MAX_ABS);
        }
    }
}
