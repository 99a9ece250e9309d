//! The command line of prestep.
//!
//! Not here: anything that a library user could want; each command is a few lines around it.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
