//! Files that Transformers wrote with its module names hold the same tensors as those with the hub's names.
//!
//! Both kinds are among the fixtures, written by Transformers 5.24.0 out of one model. Every canonical name must give the same
//! values from both.

use dinoxide_checkpoint::{Checkpoint, layout};

use crate::support::{f32_bytes, fixtures};

/// Ends the name of the fixture that holds the same weights under version 5's names.
const MODULE_NAMES: &str = "-v5-names";

#[test]
fn module_names_and_hub_names_read_the_same() {
    let mut pairs = 0;
    for entry in std::fs::read_dir(fixtures()).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap();
        let Some(hub_name) = name.strip_suffix(MODULE_NAMES) else { continue };
        let [hub, module] =
            [folder.with_file_name(hub_name), folder.clone()].map(|dir| Checkpoint::open(&dir).unwrap());
        assert!(module.unexpected().is_empty(), "{name}: {:?}", module.unexpected());
        let specs = [layout::tensor_specs(hub.config()), layout::classifier_specs(hub.config())].concat();
        let mut renamed = 0;
        for spec in specs.iter().filter(|spec| hub.tensors().contains(&spec.name)) {
            let values = [&hub, &module]
                .map(|checkpoint| checkpoint.tensors().read_f32(&spec.name, &spec.shape).unwrap());
            assert_eq!(f32_bytes(&values[0]), f32_bytes(&values[1]), "{name}: {}", spec.name);
            let file_name = |checkpoint: &Checkpoint| {
                checkpoint.tensors().parts(&spec.name).unwrap()[0].name_in_file.to_owned()
            };
            renamed += usize::from(file_name(&hub) != file_name(&module));
        }
        assert!(renamed > 0, "{name} has the hub's names");
        pairs += 1;
    }
    assert!(pairs >= 5, "only {pairs} pairs of fixtures");
}
