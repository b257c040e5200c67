//! Files of `--pixel-values`: read picture by picture; what is cut, hostile or not fed yet is refused by name.
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
    let read = pixels.read(1..3).unwrap();
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
    assert_eq!(pixels.read(2..3).unwrap().dim(), (1, 3, 2, 4));
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
    let pixels = ("pixel_values", Dtype::F32, &[1, 3, 2, 2][..]);
    assert!(
        refused(&[pixels, ("bool_masked_pos", Dtype::BOOL, &[1, 4])]).contains("input `bool_masked_pos`")
    );
    assert!(refused(&[pixels, ("labels", Dtype::I64, &[1])]).contains("input `labels`"));
    assert!(refused(&[("pixel_values", Dtype::F16, &[1, 3, 2, 2])]).contains("is F16, expected F32"));
    assert!(refused(&[("pixel_values", Dtype::F32, &[3, 2, 2])]).contains("[3, 2, 2], expected 4 axes"));
    assert!(refused(&[("pixel_values", Dtype::F32, &[0, 3, 2, 2])]).contains("no pixels"));
    assert!(refused(&[("pixels", Dtype::F32, &[1])]).contains("has no tensor `pixel_values`"));
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
