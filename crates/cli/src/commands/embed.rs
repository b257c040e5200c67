//! `embed`: one vector a picture, to a file or as JSON lines on stdout.

use crate::{
    args::EmbedArgs,
    cleanup::Cleanup,
    error::CliError,
    exit::Exit,
    inputs::Source,
    options,
    output::{About, Row, VectorFormat, VectorWriter, json_line},
    session::{Session, Tally},
};
use dinoxide::{FileOptions, Model, Pooling, normalize};

pub(super) fn run(args: &EmbedArgs, session: &mut Session) -> Result<Exit, CliError> {
    let format = args.output.as_deref().map(VectorFormat::of).transpose()?;
    let (source, lost) = Source::open(&args.inputs, &session.printer)?;
    let name = options::model_name(&args.model.source, &session.env);
    let mut writer = match (&args.output, format) {
        (Some(path), Some(format)) => {
            let about =
                About { model: name.to_string_lossy().into_owned(), path_bytes: source.label_bytes() };
            Some(format.create(path, about, &Cleanup::on_interrupt())?)
        }
        _ => None,
    };
    let checkpoint = options::open(&name, &args.model.source)?;
    let model = Model::from_checkpoint(&checkpoint, session.context)?;
    session.model_detail(&model);
    let files = FileOptions {
        batch: args.batch,
        output_attentions: options::runs_eager(args.model.attn, &checkpoint),
        ..FileOptions::default()
    };
    let pool = Pooling::from(args.pool);
    let mut tally = Tally::start(&mut session.printer, source.len(), lost, args.inputs.pictures.fail_fast);
    source.run(
        &model,
        || options::processor(&checkpoint, &args.processor),
        files,
        &mut |index, outputs| {
            tally.enter(outputs, |outputs, printer| {
                let mut vector = pool.pool(&outputs, 0);
                if args.normalize {
                    normalize(&mut vector);
                }
                let (path, embedding) = (&source.label(index), &vector.to_vec());
                match &mut writer {
                    Some(writer) => writer.write(path, embedding),
                    None => printer.data(&json_line(&Row { path, embedding }).map_err(CliError::Stdout)?),
                }
            })
        },
    )?;
    tally.end(args.output.as_deref(), || writer.map_or(Ok(()), VectorWriter::finish))
}
