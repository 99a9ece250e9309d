//! The command line as a whole: help, examples, bad usage, a reader that goes away.
//!
//! Not here: what single commands print (`conform`, `run`).

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin_cmd;

const COMMANDS: [&str; 6] = ["conform", "run", "fuzz", "replay", "rules", "catalog"];

fn help(command: &str) -> String {
    let output = cargo_bin_cmd!("prestep")
        .args([command, "--help"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_is_listed() {
    let output = cargo_bin_cmd!("prestep").arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
    }
}

#[test]
fn the_example_of_every_command_works_when_pasted() {
    for command in COMMANDS {
        let help = help(command);
        let example = help
            .lines()
            .find_map(|line| line.strip_prefix("Example: prestep "))
            .unwrap_or_else(|| panic!("no example in:\n{help}"));
        let mut call = cargo_bin_cmd!("prestep");
        call.args(example.split(' '))
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        call.assert().success();
    }
}

#[test]
fn the_help_tells_every_exit_status() {
    let output = cargo_bin_cmd!("prestep").arg("--help").output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    assert!(help.contains("Exit status: 0 all held, 1 "), "{help}");
}

#[test]
fn bad_usage_ends_in_2_and_says_so_on_standard_error() {
    for arguments in [&["conform"][..], &["walk"], &["run", "--speed", "7"]] {
        let output = cargo_bin_cmd!("prestep").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(output.stdout, b"", "{arguments:?}");
        assert_ne!(output.stderr, b"", "{arguments:?}");
    }
}

/// The reading end is closed before the program writes a byte.
#[test]
fn a_reader_that_has_gone_away_is_no_failure() {
    for arguments in [
        &["run", "--seed", "7"][..],
        &["run", "--help"],
        &["--version"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_prestep"))
            .args(arguments)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
        assert_eq!(output.stderr, b"", "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_complained_of() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_prestep"))
        .args(["run", "--seed", "7"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("cannot be written"), "{complaint}");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_trace_does_not_take_the_place_of_what_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = cargo_bin_cmd!("prestep")
        .args(["run", "--out"])
        .arg(folder.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("is no ordinary file"), "{complaint}");
    assert_eq!(output.status.code(), Some(2));
}
