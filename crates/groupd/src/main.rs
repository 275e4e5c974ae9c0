//! Flags, seed, system clock, start.

use std::process::ExitCode;

use groupd::cli::{Cli, Command, EXIT_USAGE};
use groupd::settings::{Settings, SettingsError};

fn main() -> ExitCode {
    match Cli::read().into_command() {
        Command::Serve(args) => match Settings::load(&args) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => refuse(&error),
        },
        Command::Settings(args) => match args.listing() {
            Ok(text) => {
                println!("{text}");
                ExitCode::SUCCESS
            }
            Err(error) => refuse(&error),
        },
        Command::Admin(command) => groupd::admin::run(&command),
    }
}

fn refuse(error: &SettingsError) -> ExitCode {
    for problem in error.problems() {
        eprintln!("error: {problem}");
    }
    ExitCode::from(EXIT_USAGE)
}
