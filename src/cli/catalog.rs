//! `prestep catalog`: the event and type catalogue, generated from the types.

use std::fmt::Write as _;

use clap::Args;

use prestep::event::{Entry, Lasting, Owner, catalog, schema};

use super::{Exit, Format, print, print_json};

/// Example: prestep catalog
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Prints a JSON Schema of session lines and live events instead.
    #[arg(long)]
    schema: bool,
}

pub(super) fn main(arguments: &Arguments, format: Format) -> Exit {
    match format {
        _ if arguments.schema => print_json(&schema()),
        Format::Json => print_json(&catalog()),
        Format::Text => print(&text(&catalog())),
    }
    Exit::Held
}

/// One paragraph for each event: its name, who says it, what it says, and its members.
fn text(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        let lasting = match entry.lasting {
            Lasting::Durable => "durable",
            Lasting::Live => "live",
        };
        let owner = match entry.owner {
            Owner::Core => "",
            Owner::Plugin => ", of a plugin",
        };
        // Writing to a text does not fail.
        let _ = writeln!(text, "{} ({lasting}{owner})", entry.name);
        let _ = writeln!(text, "    {}", entry.meaning);
        for member in &entry.members {
            let optional = if member.required { "" } else { "?" };
            let name = format!("{}{optional}", member.name);
            let line = format!("    {name:<16} {:<28} {}", member.form, member.meaning);
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text.push('\n');
    }
    text
}
