//! Where patches go: rows before columns, one position for each, three different rules of position.

use crate::fixtures::model;
use dinoxide::{Inputs, Isa, Outputs, hash32};
use ndarray::{Array4, Axis, s};

fn hidden_states(name: &str, pixels: &Array4<f32>) -> Outputs {
    let inputs = Inputs { output_hidden_states: true.into(), ..Inputs::new(pixels.view()) };
    model(name, Isa::best(), 2).forward(&inputs).unwrap()
}

fn pixels(height: usize, width: usize) -> Array4<f32> {
    Array4::from_shape_vec((1, 3, height, width), hash32(9, 3 * height * width)).unwrap()
}

#[test]
fn a_patch_of_the_picture_is_its_own_token_and_no_other() {
    for name in ["dinov2", "dinov2-with-registers", "dinov3-vit"] {
        let plain = pixels(56, 28);
        let mut changed = plain.clone();
        // Patch (row 12, column 1) of a 14 × 7 grid.
        changed.slice_mut(s![.., .., 48..52, 4..8]).mapv_inplace(|v| v + 1.0);
        let (plain, changed) = (hidden_states(name, &plain), hidden_states(name, &changed));
        assert_eq!((plain.grid.rows, plain.grid.cols), (14, 7));
        let stem = |outputs: &Outputs| outputs.hidden_states.as_ref().unwrap()[0].clone();
        let difference = stem(&plain) - stem(&changed);
        let tokens = difference.axis_iter(Axis(1)).enumerate();
        let moved: Vec<_> =
            tokens.filter(|(_, token)| token.iter().any(|&v| v != 0.0)).map(|(i, _)| i).collect();
        assert_eq!(moved, [plain.prefix + 12 * 7 + 1], "{name}");
    }
}

#[test]
fn grids_are_whole_quotients_never_derived_from_a_scale() {
    for (height, rows) in [(244, 61), (460, 115), (488, 122)] {
        let outputs = hidden_states("dinov2-thin", &pixels(height, 8));
        assert_eq!((outputs.grid.rows, outputs.grid.cols), (rows, 2));
        assert_eq!(outputs.last_hidden_state.dim().1, 1 + rows * 2);
    }
    for (height, rows) in [(546, 39), (602, 43)] {
        let outputs = hidden_states("dinov2-518", &pixels(height, 28));
        assert_eq!((outputs.grid.rows, outputs.grid.cols), (rows, 2));
    }
}

#[test]
fn positions_are_added_to_the_patches_not_to_themselves() {
    // Two patches of the same pixels differ by their positions alone, in DINOv2; not at all, before the layers, in DINOv3.
    let grey = Array4::from_elem((1, 3, 28, 28), 0.25);
    let distinct = |name: &str| {
        let outputs = hidden_states(name, &grey);
        let stem = &outputs.hidden_states.as_ref().unwrap()[0];
        stem.index_axis(Axis(1), outputs.prefix) != stem.index_axis(Axis(1), outputs.prefix + 1)
    };
    assert!(distinct("dinov2"));
    assert!(distinct("dinov2-with-registers"));
    assert!(!distinct("dinov3-vit"));
}
