//! The house: what a layer may know of the others, and what every file of the sources keeps.
//!
//! This reads the sources as text. Not here: what the compiler and its lints keep already.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What each layer may name of the crate beside itself.
const ARROWS: [(&str, &[&str]); 8] = [
    ("event", &[]),
    ("agent", &["event"]),
    ("rules", &["event"]),
    ("sim", &["event", "agent", "rules"]),
    ("trace", &["event", "agent", "rules", "sim"]),
    ("models", &["event", "agent", "rules"]),
    ("report", &["event", "agent", "rules", "sim", "trace"]),
    (
        "cli",
        &[
            "event", "agent", "rules", "sim", "trace", "models", "report",
        ],
    ),
];

/// Everything that may lie at the top, beside what begins with a dot.
const TOP: [&str; 15] = [
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "clippy.toml",
    "docs",
    "models",
    "rustfmt.toml",
    "src",
    "tests",
    "traces",
];

const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;

/// A file of the sources.
struct Source {
    /// From the top of the project, with `/`.
    path: String,
    text: String,
}

impl Source {
    /// The modules that the file lies in, from the crate's root; `src/agent/shell/mod.rs` is
    /// `agent`, `shell`. Empty for the roots themselves.
    fn modules(&self) -> Vec<&str> {
        let path = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let path = path.strip_suffix(".rs").unwrap();
        let path = path.strip_suffix("/mod").unwrap_or(path);
        match path {
            "lib" | "main" => Vec::new(),
            path => path.split('/').collect(),
        }
    }

    /// The code that ships: no comments, no tests, no space. A test module ends its file.
    fn code(&self) -> String {
        let shipped = self.text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = shipped.lines().map(|line| line.trim_start());
        lines.filter(|line| !line.starts_with("//")).collect()
    }
}

/// Every source file, `models` included.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for folder in ["src", "models"] {
        collect(&root().join(folder), &mut found);
    }
    assert!(found.len() > 50, "the sources are elsewhere");
    found
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let names: Vec<_> = path.strip_prefix(root()).unwrap().iter().collect();
            let path = names.join("/".as_ref()).into_string().unwrap();
            found.push(Source { path, text });
        }
    }
}

/// The layers that this code names: `crate::a::b`, `prestep::a`, `crate::{a::b, c}`.
fn named_layers(code: &str) -> BTreeSet<&str> {
    let mut named = BTreeSet::new();
    for root in ["crate::", "prestep::"] {
        for (at, _) in code.match_indices(root) {
            let rest = &code[at + root.len()..];
            match rest.strip_prefix('{') {
                Some(group) => named.extend(group_members(group)),
                None => named.extend(first_name(rest)),
            }
        }
    }
    named
}

/// The first names of a group's members, up to its closing brace.
fn group_members(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut members) = (0, 0, Vec::new());
    for (at, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                members.extend(first_name(&group[start..at]));
                start = at + 1;
                if letter == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    members
}

fn first_name(path: &str) -> Option<&str> {
    let path = path.trim_start();
    let end = path.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let name = &path[..end.unwrap_or(path.len())];
    (!name.is_empty()).then_some(name)
}

/// The longest chain of `super::` in this code.
fn supers(code: &str) -> usize {
    (1..)
        .take_while(|count| code.contains(&"super::".repeat(*count)))
        .count()
}

/// Fails with every source file that `broken` says something of.
#[track_caller]
fn no_source(broken: impl Fn(&Source) -> Option<String>) {
    let complaints: Vec<_> = sources()
        .iter()
        .filter_map(|source| Some(format!("{}: {}", source.path, broken(source)?)))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The layer that this file names and may not know, in words.
fn forbidden(source: &Source) -> Option<String> {
    let layer = *source.modules().first()?;
    let Some((_, below)) = ARROWS.iter().find(|(name, _)| *name == layer) else {
        return Some(format!("`{layer}` is no layer"));
    };
    let code = source.code();
    let above = named_layers(&code)
        .into_iter()
        .find(|name| *name != layer && !below.contains(name))?;
    Some(format!("`{layer}` may not know `{above}`"))
}

#[test]
fn a_layer_names_only_the_layers_below_it() {
    no_source(forbidden);
}

#[test]
fn a_name_from_above_is_complained_of() {
    let source = |path: &str, text: &str| Source {
        path: path.into(),
        text: text.into(),
    };
    let upward = source(
        "src/agent/shell/mod.rs",
        "use crate::{event::Seq, sim::run::Run};\n",
    );
    let complaint = forbidden(&upward);
    assert_eq!(complaint.as_deref(), Some("`agent` may not know `sim`"));

    let downward = source("src/sim/run.rs", "use crate::event::Seq;\n");
    assert_eq!(forbidden(&downward), None);

    let test = "#[cfg(test)]\nmod tests {\n    use crate::sim::run::Run;\n}\n";
    assert_eq!(forbidden(&source("src/event/id.rs", test)), None);
}

#[test]
fn a_layer_is_not_left_through_super() {
    no_source(|source| {
        let depth = source.modules().len();
        let leaves = depth > 0 && supers(&source.code()) >= depth;
        leaves.then(|| "say `crate::`, not `super::`".into())
    });
}

#[test]
fn named_layers_are_found_in_every_form() {
    let code = "use crate::event::{Seq, Turn}; use crate::{agent::log::{Log, Memory}, sim}; \
                fn f() -> prestep::report::Page { crate::rules::all() }";
    let named: Vec<_> = named_layers(code).into_iter().collect();
    assert_eq!(named, ["agent", "event", "report", "rules", "sim"]);
}

#[test]
fn every_file_begins_with_its_job() {
    no_source(|source| (!source.text.starts_with("//! ")).then(|| "no `//!` on top".into()));
}

#[test]
fn no_file_is_longer_than_one_sitting() {
    no_source(|source| {
        let lines = source.text.lines().count();
        (lines > LINES_MAX).then(|| format!("{lines} lines"))
    });
}

#[test]
fn no_line_is_wider_than_a_page() {
    no_source(|source| {
        let wide = |line: &str| line.chars().count() > COLUMNS_MAX;
        let at = source.text.lines().position(wide)?;
        Some(format!("line {} is too wide", at + 1))
    });
}

#[test]
fn nothing_is_left_unfinished() {
    let marks = ["todo!", "unimplemented!", "dbg!", "TODO", "FIXME", "XXX"];
    no_source(|source| {
        let mark = marks.iter().find(|mark| source.text.contains(**mark))?;
        Some(format!("`{mark}`"))
    });
}

#[test]
fn one_file_knows_the_random_generator() {
    let knows = |source: &Source| {
        let code = source.code();
        code.contains("rand::") || code.contains("rand_pcg")
    };
    let known: Vec<_> = sources()
        .into_iter()
        .filter(knows)
        .map(|source| source.path)
        .collect();
    assert_eq!(known, ["src/sim/chooser/random.rs"]);
}

/// What is tracked counts; outside of a repository there is nothing to ask.
#[test]
fn only_given_names_lie_at_the_top() {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output();
    let Ok(listed) = listed else {
        println!("left out: there is no git");
        return;
    };
    let listed = String::from_utf8(listed.stdout).unwrap();
    let tops = listed.split('\0').filter_map(|path| path.split('/').next());
    let strange: BTreeSet<_> = tops
        .filter(|name| !name.is_empty() && !name.starts_with('.') && !TOP.contains(name))
        .collect();
    assert_eq!(strange, BTreeSet::new());
}

#[test]
fn the_version_is_in_the_changelog() {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let released = changelog.contains(&format!("## [{version}]"));
    assert!(released || changelog.contains("## [Unreleased]"));
}
