//! The DINOv2 and DINOv3 models of dinoxide: shared layers, one short file per family.
