//! The commands and their own options.
//!
//! One struct a command, whose documentation is its `--help`: the first line is the summary, `after_help` the examples. Options
//! that commands share are groups in `inputs` and `model`.

use super::{
    Attn, BackboneArgs, Dtype, Function, HubArgs, ModelArgs, PictureArgs, Places, Pool, ProcessorArgs,
    RunArgs, Size, SourceArgs,
    values::{at_least_one, group_size, lower_precision},
};
use clap::{ArgAction, Args, Parser, Subcommand};
use dinoxide::Precision;
use std::{ffi::OsString, path::PathBuf};

const EXAMPLES: &str = "\
Examples:
  dinoxide embed -m builtin:tiny photos/             one JSON line a picture on stdout
  dinoxide embed photos/ -o vectors.parquet          all vectors in one file
  dinoxide classify photo.jpg
  dinoxide classify -m my-classifier/ photo.jpg      its labels
  dinoxide info facebook/dinov2-small                what a checkpoint holds
  dinoxide verify golden.safetensors -m my-model/    compare with Transformers
  dinoxide quantize my-model/ --to int8 -o smaller/  a checkpoint of a quarter of the size

`dinoxide COMMAND --help` tells more. Exit codes: 0 done, 1 the input (also: some inputs failed), 2 a fault of dinoxide.
Environment: DINOXIDE_MODEL, DINOXIDE_THREADS and DINOXIDE_ISA stand for --model, --threads and --isa; NO_COLOR.";

/// DINOv2 and DINOv3 vision models on the CPU, with the numbers of Hugging Face Transformers
#[derive(Debug, Parser)]
#[command(name = "dinoxide", version, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct GlobalArgs {
    /// Threads [env: DINOXIDE_THREADS] [default: the cores that this process may use]
    #[arg(long, global = true, value_name = "N")]
    pub(crate) threads: Option<OsString>,

    /// Force an instruction set level: portable, avx2, avx512, neon [env: DINOXIDE_ISA] [default: the best found]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) isa: Option<OsString>,

    /// Only errors on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,

    /// Also details on stderr
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,

    /// No progress bar
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Embed(EmbedArgs),
    Classify(ClassifyArgs),
    Features(FeaturesArgs),
    Preprocess(PreprocessArgs),
    Info(InfoArgs),
    Verify(VerifyArgs),
    Quantize(QuantizeArgs),
    Bench(BenchArgs),
    Cpu(CpuArgs),
    Completions(CompletionsArgs),
}

/// One vector a picture
///
/// Without -o: JSON lines {"path","embedding"} on stdout, in the order of the inputs, as they come.
/// In files, bytes of a path that are not UTF-8 are written as U+FFFD.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dinoxide embed -m builtin:tiny photos/
  dinoxide embed photos/ --normalize -o vectors.npy          also writes vectors.paths.json
  find . -name '*.jpg' -print0 | dinoxide embed -0 --pool cls+mean -o vectors.parquet
  dinoxide embed logos/ --background white                   transparency becomes white")]
pub(crate) struct EmbedArgs {
    /// File to write, by extension: .jsonl, .npy (paths go beside it, in NAME.paths.json), .safetensors, .parquet
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Which tokens make the vector
    #[arg(long, value_enum, default_value_t, value_name = "POOL")]
    pub(crate) pool: Pool,

    /// Scale vectors to length 1
    #[arg(long)]
    pub(crate) normalize: bool,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// `--model` of a command that needs a classifier.
const CLASSIFIER_HELP: &str = "Folder, hub id (downloaded once), or `builtin:tiny` [env: DINOXIDE_MODEL] \
    [default: facebook/dinov2-small-imagenet1k-1-layer]";

/// The labels of a picture, by a checkpoint with a classifier
///
/// JSON lines {"path","labels":[{"label","score"},…]} on stdout, in the order of the inputs, as they come, the highest score
/// first; a table on a terminal. DINOv2 has checkpoints with a classifier, such as facebook/dinov2-small-imagenet1k-1-layer.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dinoxide classify photo.jpg
  dinoxide classify -m my-classifier/ photo.jpg
  dinoxide classify photos/ --top-k 1 -o labels.jsonl")]
#[command(mut_arg("model", |model| model.help(CLASSIFIER_HELP)))]
pub(crate) struct ClassifyArgs {
    /// File to write, .jsonl
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Most labels a picture
    #[arg(long, default_value = "5", value_name = "K", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) top_k: usize,

    /// What makes scores of logits
    #[arg(long, value_enum, default_value_t, value_name = "FUNCTION")]
    pub(crate) function: Function,

    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Every tensor of a forward, under Transformers' names
///
/// last_hidden_state, pooler_output, hidden_states.0…, attentions.0…, logits; a tensor whose shape is not the same for all
/// pictures is written one a picture: last_hidden_state.0, … (hidden_states.2.0 is layer 2, picture 0), without the batch axis.
/// Metadata: `paths` (JSON list), `grid` (JSON [rows, cols]; a list of them where pictures differ), `pixels`
/// (as `grid`: [height, width] of what the model saw), `model`.
///
/// An option of the heading Backbone runs the model as a backbone: feature_maps.0…, in the order of the stages, whose names
/// are the metadata `stages` (JSON list), and with --class-token cls_tokens.0…, instead of last_hidden_state and pooler_output.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dinoxide features photo.jpg -o features.safetensors --hidden-states
  dinoxide features photo.jpg -o features.safetensors --hidden-states=0,-1 --attentions
  dinoxide features photos/ -m my-model/ --size 518 --out-features stage2,stage12 -o maps.safetensors
  dinoxide features --pixel-values labelled.safetensors -m my-classifier/ --logits -o logits.safetensors")]
pub(crate) struct FeaturesArgs {
    /// File to write, .safetensors
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Also hidden_states: the embedding output (0), then the output of each layer; or those of a list, negative ones from the end
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub(crate) hidden_states: Option<Places>,

    /// Also attentions, one matrix a layer and head (implies --attn eager)
    #[arg(long)]
    pub(crate) attentions: bool,

    /// Also logits, by the checkpoint's classifier; and loss, of the whole file, where --pixel-values has labels
    #[arg(long, conflicts_with_all = BackboneArgs::NAMES)]
    pub(crate) logits: bool,

    #[command(flatten)]
    pub(crate) run: RunArgs,

    #[command(flatten)]
    pub(crate) backbone: BackboneArgs,
}

/// What the model would see: pixel_values
///
/// One tensor [B, 3, H, W]; where sizes differ, one [3, H, W] a picture: pixel_values.0, pixel_values.1, …
/// Metadata: `paths` (JSON list), `model`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dinoxide preprocess photos/ -o pixels.safetensors
  dinoxide embed --pixel-values pixels.safetensors")]
pub(crate) struct PreprocessArgs {
    #[command(flatten)]
    pub(crate) pictures: PictureArgs,

    /// File to write, .safetensors
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) source: SourceArgs,

    #[command(flatten)]
    pub(crate) processor: ProcessorArgs,
}

/// What a checkpoint holds, and what a picture costs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dinoxide info builtin:tiny
  dinoxide info my-model/ --size 518 --json")]
pub(crate) struct InfoArgs {
    /// As --model
    #[arg(value_name = "MODEL", conflicts_with = "model")]
    pub(crate) name: Option<OsString>,

    /// Size of the picture that memory and FLOPs are told for, in pixels [default: what the processor gives]
    #[arg(long, value_name = "N|HxW")]
    pub(crate) size: Option<Size>,

    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Compare a model with a golden: inputs, and what Transformers gave for them
///
/// One row a tensor: name, shape, largest absolute difference, cosine, pass or FAIL. Exit code 1 on any FAIL. Settings of the config
/// and the kind of attention are those that the golden names; --attn eager runs the eager attention in any case.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  dinoxide verify golden.safetensors -m my-model/ --atol 1e-5")]
pub(crate) struct VerifyArgs {
    /// The golden, .safetensors: the inputs, and every tensor to compare
    #[arg(value_name = "GOLDEN")]
    pub(crate) golden: PathBuf,

    /// Largest absolute difference that passes
    #[arg(long, default_value_t = 1e-4, value_name = "X", value_parser = tolerance)]
    pub(crate) atol: f32,

    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// How fast a model runs here: forward only, inputs ready, model warm
///
/// JSON lines on stdout; a table on a terminal. `min`, `median` and `max` are over the rounds.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dinoxide bench -m builtin:tiny
  dinoxide bench --batch 1,8 --size 224,518 --rounds 20 --json")]
pub(crate) struct BenchArgs {
    /// Pictures a forward
    #[arg(long, value_delimiter = ',', default_value = "1", value_name = "N,…", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) batch: Vec<usize>,

    /// Sizes in pixels, each a side or HEIGHTxWIDTH [default: what the processor gives]
    #[arg(long, value_delimiter = ',', value_name = "SIZE,…")]
    pub(crate) size: Vec<Size>,

    /// Precisions, each as --dtype of other commands: auto, f32, bf16, f16, int8, int4, int4-a8
    #[arg(long, value_delimiter = ',', default_value = "auto", value_name = "DTYPE,…")]
    pub(crate) dtype: Vec<Dtype>,

    /// Inputs of a group of int4 and int4-a8
    #[arg(long, value_name = "N", default_value_t = Precision::DEFAULT_GROUP_SIZE, value_parser = group_size, allow_negative_numbers = true)]
    pub(crate) group_size: usize,

    /// How attention is computed
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub(crate) attn: Attn,

    /// Timed forwards, after one that is not
    #[arg(long, default_value = "10", value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) rounds: usize,

    /// Tell where the time goes: every operation by kind and shape, and its share of this machine's roof
    #[arg(long)]
    pub(crate) profile: bool,

    /// JSON lines on a terminal too
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// Write a checkpoint in lower precision: a folder that opens like any other
///
/// Only the weights of linear layers change (attention, MLP, ConvNeXt's pointwise layers, classifier); all else is written in f32.
/// A row a weight on stdout: its format, bytes before and after, cosine and largest error against the original. Then both models run
/// on the pictures and are compared. All of that is also in the folder, in quantization_report.json.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  dinoxide quantize facebook/dinov2-small --to int8 -o dinov2-small-int8
  dinoxide quantize my-model/ --to int4 --group-size 64 -o my-model-int4 photos/
  dinoxide embed -m dinov2-small-int8 photos/")]
pub(crate) struct QuantizeArgs {
    /// Folder, hub id (downloaded once), or `builtin:tiny`
    #[arg(value_name = "MODEL")]
    pub(crate) model: OsString,

    /// Pictures, and folders of them, to compare the models on [default: three that are built in]
    #[arg(value_name = "PICTURE")]
    pub(crate) pictures: Vec<PathBuf>,

    /// What the weights become: bf16, f16, int8, int4, or int4-a8 (int4, to be run with activations in 8 bits)
    #[arg(long, value_name = "DTYPE", value_parser = lower_precision)]
    pub(crate) to: Precision,

    /// Inputs of a group of int4 and int4-a8; the last group of a layer may be shorter [default: 128]
    #[arg(long, value_name = "N", value_parser = group_size, allow_negative_numbers = true)]
    pub(crate) group_size: Option<usize>,

    /// Folder to write; it must not be there, or be empty
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,

    /// Most bytes of one file of weights, such as 5GB
    #[arg(long, value_name = "SIZE", default_value = "50GB")]
    pub(crate) max_shard_size: String,

    /// Do not run the models
    #[arg(long)]
    pub(crate) no_compare: bool,

    /// The report as one JSON object on stdout, in place of the table
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) hub: HubArgs,
}

/// Instruction set levels found and used, cores, measured speed of arithmetic and memory
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  dinoxide cpu --json")]
pub(crate) struct CpuArgs {
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// A completion script for a shell, on stdout
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  dinoxide completions bash > ~/.local/share/bash-completion/completions/dinoxide")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL", action = ArgAction::Set)]
    pub(crate) shell: clap_complete::Shell,
}

fn tolerance(text: &str) -> Result<f32, String> {
    text.parse()
        .ok()
        .filter(|x: &f32| *x >= 0.0 && x.is_finite())
        .ok_or_else(|| "expected a number from 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    /// A group of options may carry its heading on to those that follow it.
    #[test]
    fn a_commands_own_options_have_no_heading() {
        let mut cli = Cli::command();
        cli.build();
        for command in cli.get_subcommands() {
            for name in [
                "inputs",
                "null",
                "fail_fast",
                "pixel_values",
                "output",
                "pool",
                "normalize",
                "top_k",
                "hidden_states",
                "logits",
                "json",
                "rounds",
                "atol",
            ] {
                let option = command.get_arguments().find(|option| option.get_id() == name);
                let heading = option.and_then(|option| option.get_help_heading());
                assert_eq!(heading, None, "{} --{name}", command.get_name());
            }
        }
    }

    #[test]
    fn every_command_has_an_example_in_its_help() {
        for command in Cli::command().get_subcommands() {
            let help = command.clone().render_help().to_string();
            assert!(help.contains(&format!("dinoxide {}", command.get_name())), "{help}");
        }
    }
}
