//! Pictures for dinoxide: bytes to oriented RGB pixels to pixel_values.
