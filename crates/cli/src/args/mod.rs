//! The command line as it is typed: options, their help, their examples.
//!
//! Nothing is opened or checked here beyond the form of a value; `crate::options` turns this into what the commands work
//! with. Names and meanings are a contract that scripts rely on.

mod backbone;
mod commands;
mod inputs;
mod model;
mod usage;
mod values;

pub(crate) use backbone::BackboneArgs;
pub(crate) use commands::{
    BenchArgs, ClassifyArgs, Cli, Command, CompletionsArgs, CpuArgs, EmbedArgs, FeaturesArgs, GlobalArgs,
    InfoArgs, PreprocessArgs, QuantizeArgs, VerifyArgs,
};
pub(crate) use inputs::{InputArgs, PictureArgs};
pub(crate) use model::{HubArgs, ModelArgs, ProcessorArgs, RunArgs, SourceArgs};
pub(crate) use usage::{Parsed, parse};
pub(crate) use values::{Attn, Colour, Dtype, Function, Places, Pool, Size};
