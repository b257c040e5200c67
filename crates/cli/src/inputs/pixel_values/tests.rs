//! Files of `--pixel-values`: read picture by picture; what is cut, hostile or of another form is refused by name.
//!
//! Files are written by the format's own crate; the values count up, so that each place is known by its number. Damage is
//! done to their bytes.

use super::*;
use safetensors::tensor::TensorView;
use std::fs;

fn file(dir: &Path, tensors: &[(&str, Dtype, &[usize])]) -> PathBuf {
    let bytes: Vec<u8> = (0_u16..10_000).flat_map(|i| f32::from(i).to_le_bytes()).collect();
    let views = tensors.iter().map(|(name, dtype, shape)| {
        let len = shape.iter().product::<usize>() * dtype.bitsize() / 8;
        (name.to_string(), TensorView::new(*dtype, shape.to_vec(), &bytes[..len]).unwrap())
    });
    let path = dir.join("x.safetensors");
    fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
    path
}

fn refused(tensors: &[(&str, Dtype, &[usize])]) -> String {
    let dir = tempfile::tempdir().unwrap();
    PixelValues::open(&file(dir.path(), tensors)).unwrap_err().to_string()
}

#[test]
fn a_batch_is_read_picture_by_picture() {
    let dir = tempfile::tempdir().unwrap();
    let pixels =
        PixelValues::open(&file(dir.path(), &[("pixel_values", Dtype::F32, &[3, 3, 2, 4])])).unwrap();
    assert_eq!((pixels.len(), pixels.batch_at(0, 2), pixels.batch_at(2, 2)), (3, 0..2, 2..3));
    let read = pixels.read(1..3).unwrap().pixel_values;
    assert_eq!(read.dim(), (2, 3, 2, 4));
    assert_eq!((read[[0, 0, 0, 0]], read[[1, 2, 1, 3]]), (24.0, 71.0));
    assert!(pixels.label(2).ends_with("x.safetensors#2"));
}

#[test]
fn single_pictures_go_together_while_their_size_is_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (small, large): (&[usize], &[usize]) = (&[3, 2, 2], &[3, 2, 4]);
    let tensors = [
        ("pixel_values.0", Dtype::F32, small),
        ("pixel_values.1", Dtype::F32, small),
        ("pixel_values.2", Dtype::F32, large),
    ];
    let pixels = PixelValues::open(&file(dir.path(), &tensors)).unwrap();
    assert_eq!((pixels.batch_at(0, 8), pixels.batch_at(2, 8)), (0..2, 2..3));
    assert_eq!(pixels.read(2..3).unwrap().pixel_values.dim(), (1, 3, 2, 4));
}

#[test]
fn a_tensor_that_would_be_left_out_is_refused() {
    let single = |name| (name, Dtype::F32, &[3_usize, 2, 2][..]);
    let gap = refused(&[single("pixel_values.0"), single("pixel_values.2")]);
    assert!(gap.contains("no tensor `pixel_values.1`"), "{gap}");
    let both = refused(&[("pixel_values", Dtype::F32, &[1, 3, 2, 2]), single("pixel_values.0")]);
    assert!(both.contains("has both"), "{both}");
}

#[test]
fn what_cannot_be_fed_is_refused_by_name() {
    let refused_pixels = |name, dtype, shape| refused(&[(name, dtype, shape)]);
    let half = refused_pixels("pixel_values", Dtype::F16, &[1, 3, 2, 2]);
    assert!(half.ends_with("x.safetensors: tensor `pixel_values` is F16, expected F32"), "{half}");
    for (name, shape, expected) in [
        ("pixel_values", &[3, 2, 2][..], "of shape [3, 2, 2], expected 4 axes"),
        ("pixel_values.0", &[1, 3, 2, 2], "of shape [1, 3, 2, 2], expected 3 axes"),
        (
            "pixel_values",
            &[0, 3, 2, 2],
            "of shape [0, 3, 2, 2], expected a first axis of at least one picture",
        ),
        ("pixel_values", &[1, 3, 0, 2], "of shape [1, 3, 0, 2], expected no axis of length 0"),
        ("pixel_values", &[1 << 60, 3, 0, 2], "expected no axis of length 0"),
        ("pixel_values.0", &[3, 0, 2], "of shape [3, 0, 2], expected no axis of length 0"),
        ("pixels", &[1], "has no tensor `pixel_values`"),
        ("pixel_values.00", &[3, 2, 2], "has no tensor `pixel_values`"),
    ] {
        let error = refused_pixels(name, Dtype::F32, shape);
        assert!(error.contains(expected), "{error}");
    }
}

/// A file of two pictures of one pixel and another tensor of these bytes.
fn with(name: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<PixelValues, CliError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.safetensors");
    let views = [
        ("pixel_values", TensorView::new(Dtype::F32, vec![2, 1, 1, 1], &[0; 8]).unwrap()),
        (name, TensorView::new(dtype, shape.to_vec(), bytes).unwrap()),
    ];
    fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
    PixelValues::open(&path)
}

#[test]
fn masks_of_any_number_format_are_read_row_by_row() {
    let masks: [(Dtype, Vec<u8>); 8] = [
        (Dtype::BOOL, vec![0, 1, 1, 0]),
        (Dtype::U8, vec![0, 1, 1, 0]),
        (Dtype::I8, vec![0, 1, 1, 0]),
        (Dtype::I16, [0_i16, 1, 1, 0].map(i16::to_le_bytes).concat()),
        (Dtype::I32, [0_i32, 1, 1, 0].map(i32::to_le_bytes).concat()),
        (Dtype::I64, [0_i64, 1, 1, 0].map(i64::to_le_bytes).concat()),
        (Dtype::F32, [0.0_f32, 1.0, 1.0, -0.0].map(f32::to_le_bytes).concat()),
        (Dtype::F64, [0.0_f64, 1.0, 1.0, 0.0].map(f64::to_le_bytes).concat()),
    ];
    for (dtype, bytes) in masks {
        for name in ["bool_masked_pos", "attention_mask"] {
            let batch = with(name, dtype, &[2, 2], &bytes).unwrap().read(0..2).unwrap();
            let (masked, mask) = (batch.bool_masked_pos, batch.attention_mask);
            assert_eq!(
                (masked.is_some(), mask.is_some()),
                (name == "bool_masked_pos", name == "attention_mask")
            );
            assert_eq!(masked.or(mask).unwrap(), ndarray::arr2(&[[false, true], [true, false]]), "{dtype:?}");
        }
    }
}

#[test]
fn masks_of_another_form_are_refused_with_what_was_expected() {
    let ones = |n: usize| vec![1; n];
    let f32s = |x: f32| [x, 0.0, 1.0, 1.0].map(f32::to_le_bytes).concat();
    for (dtype, shape, bytes, expected) in [
        (Dtype::U8, &[2, 2][..], vec![0, 2, 1, 0], "is 2 at place 1 of a picture, expected 0 or 1"),
        (Dtype::F32, &[2, 2], f32s(0.5), "is 0.5 at place 0 of a picture, expected 0 or 1"),
        (Dtype::F32, &[2, 2], f32s(f32::NAN), "is NaN at place 0"),
        (Dtype::F16, &[2, 2], ones(8), "is F16, expected BOOL, integers, F32 or F64"),
        (
            Dtype::U8,
            &[3, 2],
            ones(6),
            "is for 3 pictures, expected as many as there are of `pixel_values`, 2",
        ),
        (Dtype::U8, &[4], ones(4), "is for 4 pictures"),
        (Dtype::U8, &[2], ones(2), "is of shape [2], expected 2 axes"),
        (Dtype::U8, &[2, 1, 2], ones(4), "is of shape [2, 1, 2], expected 2 axes"),
        (Dtype::U8, &[], ones(1), "is of shape [], expected a first axis"),
    ] {
        let error = with("bool_masked_pos", dtype, shape, &bytes).unwrap_err().to_string();
        assert!(error.contains("tensor `bool_masked_pos` ") && error.contains(expected), "{error}");
    }
    let gap = with("bool_masked_pos.1", Dtype::U8, &[2], &[1, 1]).unwrap_err().to_string();
    assert!(gap.contains("has no tensor `bool_masked_pos.0`, but others"), "{gap}");
}

#[test]
fn pictures_with_masks_of_other_lengths_are_no_batch() {
    let dir = tempfile::tempdir().unwrap();
    let pixel =
        |i| (["pixel_values.0", "pixel_values.1", "pixel_values.2"][i], Dtype::F32, &[1_usize, 1, 1][..]);
    let short = |i| (["attention_mask.0", "attention_mask.1"][i], Dtype::BOOL, &[1_usize][..]);
    let tensors =
        [pixel(0), pixel(1), pixel(2), short(0), short(1), ("attention_mask.2", Dtype::BOOL, &[2][..])];
    let path = file(dir.path(), &tensors);
    let pixels = PixelValues::open(&path).unwrap();
    assert_eq!((pixels.batch_at(0, 8), pixels.batch_at(2, 8)), (0..2, 2..3));
    assert_eq!(pixels.read(2..3).unwrap().attention_mask.unwrap().dim(), (1, 2));
}

#[test]
fn labels_are_integers_or_floats_one_for_each_picture() {
    let classes = [3_i64, -100].map(i64::to_le_bytes).concat();
    let labels = |dtype, shape: &[usize], bytes: &[u8]| with("labels", dtype, shape, bytes);
    for shape in [&[2][..], &[2, 1]] {
        let file = labels(Dtype::I64, shape, &classes).unwrap();
        let Some(Labels::Classes(read)) = file.labels() else { panic!("{:?}", file.labels()) };
        assert_eq!((read.shape(), read.iter().copied().collect::<Vec<_>>()), (shape, vec![3, -100]));
    }
    let file = labels(Dtype::I32, &[2], &[3_i32, -100].map(i32::to_le_bytes).concat()).unwrap();
    assert!(matches!(file.labels(), Some(Labels::Classes(read)) if read[[1]] == -100));
    let values = [0.5_f32, 1.0, 0.0, 1.0].map(f32::to_le_bytes).concat();
    let file = labels(Dtype::F32, &[2, 2], &values).unwrap();
    assert!(matches!(file.labels(), Some(Labels::Values(read)) if read[[0, 0]] == 0.5));
    for (dtype, shape, expected) in [
        (Dtype::I64, &[1][..], "is of shape [1], expected [2], [2, 1] or [2, number of labels]"),
        (Dtype::I64, &[], "is of shape [], expected [2]"),
        (Dtype::F16, &[2, 2], "is F16, expected I64, I32 or F32"),
    ] {
        let bytes = &[0; 8][..shape.iter().product::<usize>() * dtype.bitsize() / 8];
        let error = labels(dtype, shape, bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_cut_or_foreign_file_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(dir.path(), &[("pixel_values", Dtype::F32, &[1, 3, 2, 2])]);
    let whole = fs::read(&path).unwrap();
    for cut in 0..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        assert!(PixelValues::open(&path).is_err(), "{cut}");
    }
    let long_header = [&u64::MAX.to_le_bytes()[..], &whole[8..]].concat();
    for foreign in [b"{\"pixel_values\": []}".to_vec(), long_header, [whole.clone(), vec![0]].concat()] {
        fs::write(&path, foreign).unwrap();
        assert!(PixelValues::open(&path).is_err());
    }
}

#[test]
fn a_shape_that_its_bytes_do_not_bear_out_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.safetensors");
    let open = |shape: &str, offsets: &str| {
        let tensor = format!(r#"{{"dtype": "F32", "shape": {shape}, "data_offsets": {offsets}}}"#);
        let header = format!(r#"{{"pixel_values": {tensor}}}"#).into_bytes();
        let bytes = [&(header.len() as u64).to_le_bytes()[..], &header, &[0; 48]].concat();
        fs::write(&path, bytes).unwrap();
        PixelValues::open(&path)
    };
    assert_eq!(open("[1,3,2,2]", "[0,48]").unwrap().len(), 1);
    // The second product is 2^64 · 12: it would wrap to 48 bytes' worth of nothing.
    for shape in ["[1,3,2,9]", "[4294967296,4294967296,3,1]", "[9223372036854775807,3,2,2]"] {
        let error = open(shape, "[0,48]").unwrap_err().to_string();
        assert!(error.contains("is not a valid safetensors file"), "{shape}: {error}");
    }
    assert!(open("[1,3,2,2]", "[48,0]").is_err());
}
