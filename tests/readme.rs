//! The documents say what is so: their commands run, and print what stands there.
//!
//! Not here: the Rust of the README, which is a doc test of the library.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn document(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// A command of a document and what it is said to print.
struct Shown {
    command: String,
    prints: String,
}

/// The commands of all `console` blocks, in order.
fn shown(document: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        match line.strip_prefix("$ ") {
            _ if line.starts_with("```") => inside = line == "```console",
            Some(command) if inside => shown.push(Shown {
                command: command.replace("cargo run --release --quiet --", "prestep"),
                prints: String::new(),
            }),
            None if inside => {
                let last = &mut shown.last_mut().unwrap().prints;
                last.push_str(line);
                last.push('\n');
            }
            _ => {}
        }
    }
    shown
}

/// Runs a command after one that ended so; gives what it prints and its own end.
fn paste(command: &str, after: i32) -> (String, i32) {
    let program = Path::new(env!("CARGO_BIN_EXE_prestep")).parent().unwrap();
    let script = format!(
        "PATH='{}':$PATH; (exit {after}); {command}",
        program.display()
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(root())
        .output()
        .unwrap();
    let printed = [output.stdout, output.stderr].concat();
    (
        String::from_utf8(printed).unwrap(),
        output.status.code().unwrap(),
    )
}

#[test]
fn every_command_of_the_readme_prints_what_stands_there() {
    let shown = shown(&document("README.md"));
    assert!(shown.len() > 4, "the README shows no commands");
    let mut status = 0;
    for Shown { command, prints } in shown {
        let (printed, ended) = paste(&command, status);
        assert_eq!(printed, prints, "$ {command}");
        status = ended;
    }
}

#[test]
fn the_first_screen_has_the_main_job_the_tests_and_a_failing_run() {
    let readme = document("README.md");
    let screen: String = readme.lines().take(45).collect::<Vec<_>>().join("\n");
    for needed in [
        "632 passed, 0 failed",
        "cargo test --locked",
        "0 passed, 1 failed",
        "A pass ",
    ] {
        assert!(screen.contains(needed), "{needed}");
    }
}

#[test]
fn the_altered_schedule_differs_in_one_observation() {
    let measured = document("tests/data/remove-claimed.jsonl");
    let altered = document("tests/data/altered.jsonl");
    assert!(document("tests/golden/named.jsonl").contains(&measured));
    assert_eq!(
        altered,
        measured.replacen("\"returned\":false", "\"returned\":true", 1)
    );
}

#[test]
fn the_test_command_of_the_readme_is_what_ci_runs() {
    let ci = document(".ci/run");
    assert!(ci.contains("cargo test --locked"), "{ci}");
}

/// Links between the documents lead to files that are there.
#[test]
fn every_linked_file_is_there() {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "benches/README.md",
        "tests/golden/README.md",
    ] {
        let text = document(name);
        let folder = root().join(name).parent().unwrap().to_owned();
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.starts_with('#') && !link.contains("://")) {
            assert!(folder.join(link).exists(), "{name} links to {link}");
        }
    }
}
