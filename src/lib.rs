//! Deterministic simulation and verification of agent loops.
//!
//! The layers, from the bottom: [`event`] is the vocabulary; [`agent`] the system, a loop and an
//! inbox that a program can ship; [`sim`] runs it under a chooser, deterministically.
//! ARCHITECTURE.md says what each layer may know.

pub mod agent;
pub mod event;
pub mod report;
pub mod rules;
pub mod sim;
pub mod trace;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
