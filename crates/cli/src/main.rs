//! The command `dinoxide`.
fn main() {}
