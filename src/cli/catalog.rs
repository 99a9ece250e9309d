//! `prestep catalog`: the event and type catalogue, generated from the types.

use clap::Args;

use super::{Exit, Format, print, print_json};

/// Example: prestep catalog --schema
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Prints a JSON Schema of session lines and live events instead.
    #[arg(long)]
    schema: bool,
}

pub(super) fn main(arguments: &Arguments, format: Format) -> Exit {
    let _ = (arguments.schema, format);
    print("");
    print_json(&());
    Exit::Held
}
