//! A processor config as the JSON that Transformers' `save_pretrained` writes.
//!
//! What the class sets by default is always written, as `null` where it was taken away; everything else where it differs from
//! the class's default.
//! Source: `image_processing_utils.py: to_dict` of Transformers 5.24.0.

use serde_json::{Map, Value, json};

use super::{ProcessorConfig, ProcessorKind, Resample, SizeSpec};
use crate::config::python_json;

/// Keys that only Bit's class sets.
const BIT_KEYS: [&str; 3] = ["crop_size", "do_center_crop", "do_convert_rgb"];
/// Keys that both classes set.
const KEYS: [&str; 8] = [
    "do_normalize",
    "do_rescale",
    "do_resize",
    "image_mean",
    "image_std",
    "resample",
    "rescale_factor",
    "size",
];

impl ProcessorConfig {
    /// The text of `preprocessor_config.json`, as Transformers writes it: keys sorted, two spaces of indent, a newline at the
    /// end. Keys of a file that are not known here are not in it; `Checkpoint::save_pretrained` keeps them.
    pub fn to_json(&self) -> String {
        let default = Self::new(self.kind).fields();
        let always =
            |key: &str| KEYS.contains(&key) || (self.kind == ProcessorKind::Bit && BIT_KEYS.contains(&key));
        let mut map: Map<String, Value> = self
            .fields()
            .into_iter()
            .zip(default)
            .filter(|((key, value), (_, default))| always(key) || value != default)
            .map(|((key, value), _)| (key.to_owned(), value))
            .collect();
        map.insert("image_processor_type".into(), json!(self.kind.name()));
        python_json::to_string(&map)
    }

    fn fields(&self) -> [(&'static str, Value); 14] {
        let size = |size: Option<SizeSpec>| size.map_or(Value::Null, SizeSpec::json);
        [
            ("do_convert_rgb", json!(self.do_convert_rgb)),
            ("do_resize", json!(self.do_resize)),
            ("size", size(self.size)),
            ("resample", json!(self.resample.map(Resample::code))),
            ("default_to_square", json!(self.default_to_square)),
            ("do_center_crop", json!(self.do_center_crop)),
            ("crop_size", size(self.crop_size)),
            ("do_rescale", json!(self.do_rescale)),
            ("rescale_factor", json!(self.rescale_factor)),
            ("do_normalize", json!(self.do_normalize)),
            ("image_mean", json!(self.image_mean)),
            ("image_std", json!(self.image_std)),
            ("do_pad", json!(self.do_pad)),
            ("pad_size", size(self.pad_size)),
        ]
    }
}

impl SizeSpec {
    fn json(self) -> Value {
        match self {
            Self::HeightWidth { height, width } => json!({"height": height, "width": width}),
            Self::ShortestEdge { shortest_edge } => json!({"shortest_edge": shortest_edge}),
            Self::ShortestLongestEdge { shortest_edge, longest_edge } => {
                json!({"shortest_edge": shortest_edge, "longest_edge": longest_edge})
            }
            Self::LongestEdge { longest_edge } => json!({"longest_edge": longest_edge}),
            Self::MaxHeightWidth { max_height, max_width } => {
                json!({"max_height": max_height, "max_width": max_width})
            }
            Self::PixelBounds { min_pixels, max_pixels } => {
                json!({"min_pixels": min_pixels, "max_pixels": max_pixels})
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(bytes: &[u8]) -> ProcessorConfig {
        ProcessorConfig::from_json(Path::new("preprocessor_config.json"), bytes, None).unwrap()
    }

    #[test]
    fn the_files_of_the_fixtures_are_written_as_transformers_wrote_them() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
        let mut count = 0;
        for entry in std::fs::read_dir(fixtures).unwrap() {
            let path = entry.unwrap().path().join("preprocessor_config.json");
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            assert_eq!(read(text.as_bytes()).to_json(), text, "{}", path.display());
            count += 1;
        }
        assert!(count >= 50, "{count} files");
    }

    #[test]
    fn what_differs_from_the_class_is_written_and_what_was_taken_away_is_null() {
        // to_json_string() of BitImageProcessor(do_pad=True, pad_size={"height": 3, "width": 4}, size={"height": 3,
        // "width": 5}, resample=None, crop_size=None, image_mean=None), and of DINOv3ViTImageProcessor(do_pad=True,
        // do_center_crop=True, crop_size=4, do_convert_rgb=True, size={"longest_edge": 4}, image_mean=[0.5]).
        let bit = json!({"crop_size": null, "do_center_crop": true, "do_convert_rgb": true, "do_normalize": true,
            "do_pad": true, "do_rescale": true, "do_resize": true, "image_mean": null,
            "image_processor_type": "BitImageProcessor", "image_std": [0.26862954, 0.26130258, 0.27577711],
            "pad_size": {"height": 3, "width": 4}, "resample": null, "rescale_factor": 0.00392156862745098,
            "size": {"height": 3, "width": 5}});
        let dino = json!({"crop_size": {"height": 4, "width": 4}, "do_center_crop": true, "do_convert_rgb": true,
            "do_normalize": true, "do_pad": true, "do_rescale": true, "do_resize": true, "image_mean": [0.5],
            "image_processor_type": "DINOv3ViTImageProcessor", "image_std": [0.229, 0.224, 0.225], "resample": 2,
            "rescale_factor": 0.00392156862745098, "size": {"longest_edge": 4}});
        for expected in [bit, dino] {
            let written: Value =
                serde_json::from_str(&read(expected.to_string().as_bytes()).to_json()).unwrap();
            assert_eq!(written, expected);
        }
    }

    #[test]
    fn every_form_of_size_is_read_back() {
        let sizes = [
            SizeSpec::ShortestLongestEdge { shortest_edge: 4, longest_edge: 9 },
            SizeSpec::MaxHeightWidth { max_height: 3, max_width: 2 },
            SizeSpec::PixelBounds { min_pixels: 10, max_pixels: 20 },
        ];
        for size in sizes {
            let config =
                ProcessorConfig { size: Some(size), ..ProcessorConfig::new(ProcessorKind::DINOv3ViT) };
            assert_eq!(read(config.to_json().as_bytes()), config);
        }
    }
}
