//! `prestep rules`: the catalogue of rules.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use prestep::report::timeline;
use prestep::rules::example::numbered;
use prestep::rules::{About, RULES, RuleId, Scope};

use super::{Exit, Format, complain, print, print_json};

/// Example: prestep rules turns-never-overlap
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// One rule, with a log that it accepts and one that it refuses.
    name: Option<String>,
}

pub(super) fn main(arguments: &Arguments, format: Format) -> Exit {
    let rules: Vec<&About> = match &arguments.name {
        None => RULES.iter().collect(),
        Some(name) => match RuleId::named(name) {
            Some(rule) => vec![rule.about()],
            None => {
                complain(&format!(
                    "no rule is named \"{name}\"; `prestep rules` lists them all"
                ));
                return Exit::Unusable;
            }
        },
    };
    match format {
        Format::Json => {
            print_json(&rules.iter().map(|about| to_json(about)).collect::<Vec<_>>());
        }
        Format::Text if arguments.name.is_some() => {
            rules.iter().for_each(|about| print(&one(about)));
        }
        Format::Text => print(&list(&rules)),
    }
    Exit::Held
}

fn scope(about: &About) -> &'static str {
    match (about.scope, about.advice) {
        (_, true) => "advice",
        (Scope::Log, _) => "log",
        (Scope::Live, _) => "live",
        (Scope::Schedule, _) => "schedule",
    }
}

fn list(rules: &[&About]) -> String {
    let mut text = String::new();
    for about in rules {
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "{} ({})\n    {}",
            about.name,
            scope(about),
            about.sentence
        );
    }
    text
}

fn one(about: &About) -> String {
    let accepted = timeline::render(&numbered((about.accepted)()));
    let refused = timeline::render(&numbered((about.refused)()));
    let head = list(&[about]);
    format!("{head}\naccepted:\n{accepted}\nrefused:\n{refused}")
}

fn to_json(about: &About) -> Value {
    json!({
        "name": about.name,
        "sentence": about.sentence,
        "scope": scope(about),
        "accepted": numbered((about.accepted)()),
        "refused": numbered((about.refused)()),
    })
}
