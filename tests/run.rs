//! `prestep run` as a user meets it: a seed is a run, the same one everywhere and every time.
//!
//! Not here: whether a run keeps its rules.

#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;

/// What a call of the program prints; it has to end well.
fn prints(arguments: &[&str]) -> String {
    let output = cargo_bin_cmd!("prestep").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_seed_gives_the_same_bytes_every_time() {
    let once = prints(&["run", "--seed", "7"]);
    assert_eq!(prints(&["run", "--seed", "7"]), once);
}

#[test]
fn another_seed_gives_other_bytes() {
    assert_ne!(
        prints(&["run", "--seed", "7"]),
        prints(&["run", "--seed", "8"])
    );
}

#[test]
fn a_seed_may_be_hexadecimal() {
    assert_eq!(
        prints(&["run", "--seed", "0x1f"]),
        prints(&["run", "--seed", "31"])
    );
}

#[test]
fn a_seed_that_is_no_number_is_bad_usage() {
    let mut call = cargo_bin_cmd!("prestep");
    call.args(["run", "--seed", "seven"]).assert().code(2);
}

#[test]
fn a_timeline_tells_who_did_what_in_which_step_with_both_lists() {
    insta::assert_snapshot!(prints(&["run", "--seed", "103"]));
}

/// 64-bit FNV-1a: short, and the same everywhere.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Runs that are pinned: whatever changes one of them, a draw or the agent, shows here.
#[test]
fn the_runs_of_64_seeds_are_the_pinned_ones() {
    let digests: BTreeMap<u64, String> = (0..64)
        .map(|seed| {
            let run = prints(&["run", "--seed", &seed.to_string(), "--format", "json"]);
            (seed, format!("{:016x}", digest(run.as_bytes())))
        })
        .collect();
    let found = serde_json::to_string_pretty(&digests).unwrap() + "\n";
    let pinned = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces/digests.json");
    if fs::read_to_string(&pinned).unwrap_or_default() != found {
        let wanted = Path::new(env!("CARGO_TARGET_TMPDIR")).join("digests.json");
        fs::write(&wanted, found).unwrap();
        panic!(
            "runs have changed; if that is meant, copy {} to {}",
            wanted.display(),
            pinned.display()
        );
    }
}
