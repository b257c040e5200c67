//! `verify`: a model against a golden, a row a tensor.
//!
//! The checkpoint is opened with the config settings that the golden names. A tensor passes when every element is within `--atol`
//! and the shape is the same. The exit code is what scripts go by, the
//! table what people read.

use crate::{
    args::{Attn, VerifyArgs},
    error::CliError,
    exit::Exit,
    options::{self, Wishes},
    output::Table,
    session::Session,
    text,
};
use dinoxide::{Golden, Model, Row, config::ModelConfig, verify};

pub(super) fn run(args: &VerifyArgs, session: &mut Session) -> Result<Exit, CliError> {
    let mut golden = Golden::open(&args.golden)?;
    if args.model.attn == Attn::Eager {
        golden = golden.with_eager_attention();
    }
    let name = options::model_name(&args.model.source, &session.env);
    let precision = args.model.precision();
    let wishes = Wishes { overrides: golden.overrides()?, precision };
    let checkpoint = options::open_with(wishes, &name, &args.model.source.hub, &session.printer)?;
    let model = Model::from_checkpoint(&checkpoint, session.run_options(precision))?;
    session.model_detail(&model);
    let named = another_type(&golden, model.config());
    let of_another = |why: &str| {
        let golden = args.golden.display();
        session.printer.warning(&format!("{golden}: the golden looks made by another model: {why}"));
    };
    // Before the comparison, which such a golden may stop with an error.
    named.iter().for_each(|why| of_another(why));
    let rows = verify(&model, &golden)?;
    if named.is_none() && rows.iter().all(|row| row.got_shape.is_some()) {
        of_another("no tensor has the shape that this one gives");
    }
    let mut table = Table::new(&["tensor", "shape", "max abs", "cosine", "result"]);
    for row in &rows {
        table.row(cells(row, args.atol));
    }
    session.printer.data(table.to_string().as_bytes())?;
    let failed = rows.iter().filter(|row| !row.passes(args.atol)).count();
    let tensors = text::count(rows.len(), "tensor");
    if failed == 0 {
        session.printer.note(&format!("{tensors} within {:e}", args.atol));
        return Ok(Exit::Done);
    }
    session.printer.note(&format!("{failed} of {tensors} not within {:e}", args.atol));
    Ok(Exit::Input)
}

/// How the golden's `model_type` differs, if it names another one.
fn another_type(golden: &Golden, config: &ModelConfig) -> Option<String> {
    let got = config.model_type();
    let named = golden.metadata().get("model_type").filter(|named| named.as_str() != got)?;
    Some(format!("its `model_type` is `{}`, this one's is `{got}`", text::shown(named)))
}

fn cells(row: &Row, atol: f32) -> Vec<String> {
    let shape = match &row.got_shape {
        None => format!("{:?}", row.shape),
        Some(got) => format!("{:?}, got {got:?}", row.shape),
    };
    let result = if row.passes(atol) { "pass" } else { "FAIL" };
    // Rounded down, so that only equal tensors have a cosine of 1.
    let cosine = (row.cosine * 1e9).floor() / 1e9;
    vec![row.name.clone(), shape, format!("{:.2e}", row.max_abs), format!("{cosine:.9}"), result.to_owned()]
}
