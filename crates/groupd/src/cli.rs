//! The command line: what can be typed, and the help that explains it.
//!
//! Only reads; [`crate::settings`] checks the values, and `main` runs the command.

use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::admin::AdminCommand;
use crate::settings::{Settings, SettingsError};
use crate::shown;
use crate::store::StoreCommand;

/// Exit code where the command line or a setting is wrong.
pub const EXIT_USAGE: u8 = 2;

const HELP: &str = "\
groupd: a small, durable Kafka group coordinator. Stock Kafka clients form
groups, commit offsets and rebalance on it; it keeps no messages.

  groupd --topic orders:12   serve on 127.0.0.1:9092, state in ./groupd-data
  groupd groups list         the groups of this or any Kafka coordinator

Usage: groupd [serve] [OPTIONS]
       groupd settings | groups | offsets | topics | store | clock | fault
                                                           (each has --help)

Server options:
  --listen HOST:PORT       where clients connect           [127.0.0.1:9092]
  --advertise HOST:PORT    what clients are told to connect to
                           [the address they reached us by]
  --topic NAME:PARTITIONS  a topic to divide among members; repeat for more
  --data-dir DIR           where group state is kept       [./groupd-data]
  --store embedded|memory  memory forgets all on exit      [embedded]
  --http HOST:PORT|off     /metrics /healthz /readyz
                           [127.0.0.1, port of --listen + 1000: 10092]
  --shards N               threads that own groups         [number of cores]
  --simulated-clock        for tests: groupd clock moves time, groupd fault
                           makes faults
  --log FILTER             error|warn|info|debug|trace, or per target   [info]
  --log-format text|json                                   [text]
  --set NAME=VALUE         a Kafka setting: group.initial.rebalance.delay.ms=0
  --config FILE            settings from a TOML file
  -h, --help    -V, --version

Each setting can come from a flag, GROUPD_NAME in the environment (dots are _)
or the file; the first that has it wins. `groupd settings` lists all, their
values and where each came from. A wrong setting is an error: exit code 2.
";

/// What was typed.
#[derive(Debug, Parser)]
#[command(name = "groupd", version, override_help = HELP, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// The command, if one was named.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// The options of `serve`, which is the command if none is named.
    #[command(flatten)]
    pub serve: ServeArgs,
}

impl Cli {
    /// What was typed; prints help, version or what is wrong, and exits, where that is the answer.
    pub fn read() -> Self {
        Self::try_parse().unwrap_or_else(|answer| {
            let code = answer.exit_code();
            match answer.print() {
                Err(error) if error.kind() != ErrorKind::BrokenPipe && code == 0 => {
                    complain(&format!("standard output cannot be written ({error})"));
                    std::process::exit(1)
                }
                Ok(()) | Err(_) => std::process::exit(code),
            }
        })
    }

    /// The command to run.
    pub fn into_command(self) -> Command {
        self.command.unwrap_or(Command::Serve(self.serve))
    }
}

/// Prints `text` and a line's end to standard output.
///
/// # Errors
///
/// Those of [`Output`].
pub fn print(text: &str) -> io::Result<()> {
    let mut out = Output::new(io::stdout().lock());
    writeln!(out, "{text}")?;
    out.flush()
}

/// Standard output, or what a test puts in its place. A reader that has seen enough (`| head`) is no error, and
/// gets nothing more; any other fault is one, as what was kept of the output is not whole.
#[derive(Debug)]
pub struct Output<W> {
    to: W,
    enough: bool,
}

impl<W: Write> Output<W> {
    /// Writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, enough: false }
    }

    fn checked<T>(&mut self, instead: T, written: io::Result<T>) -> io::Result<T> {
        match written {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.enough = true;
                Ok(instead)
            }
            // Whoever writes tries again by itself.
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            Err(error) => Err(io::Error::new(
                error.kind(),
                format!("standard output cannot be written ({error}): what was printed is not whole"),
            )),
            Ok(done) => Ok(done),
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.enough {
            return Ok(bytes.len());
        }
        let written = self.to.write(bytes);
        self.checked(bytes.len(), written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.enough {
            return Ok(());
        }
        let flushed = self.to.flush();
        self.checked((), flushed)
    }
}

/// One line to standard error, whatever is in the names that `sentence` repeats; where that is gone as well, there is
/// nobody left to tell.
pub fn complain(sentence: &str) {
    drop(writeln!(std::io::stderr(), "error: {}", shown::sentence(sentence)));
}

/// What can be run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server (the command if none is named)
    #[command(override_help = HELP)]
    Serve(ServeArgs),
    /// List all settings, their values and where each came from, then exit
    Settings(SettingsArgs),
    /// Look at a data directory while no server runs on it
    #[command(subcommand)]
    Store(StoreCommand),
    /// Ask a server, this one or any other Kafka coordinator
    #[command(flatten)]
    Admin(AdminCommand),
}

/// Options of `groupd settings`.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// Print JSON, with what each setting is for and what it may be
    #[arg(long)]
    pub json: bool,
    /// The server's options: what would be in force with them.
    #[command(flatten)]
    pub serve: ServeArgs,
}

impl SettingsArgs {
    /// The listing that was asked for.
    ///
    /// # Errors
    ///
    /// All that is wrong with the settings, as `serve` would say it.
    pub fn listing(&self) -> Result<String, SettingsError> {
        let report = Settings::explain(&self.serve)?.1;
        Ok(if self.json { report.json() } else { report.table() })
    }
}

/// Options of the server, as typed.
#[derive(Clone, Debug, Default, Args)]
pub struct ServeArgs {
    /// Where clients connect
    #[arg(long, value_name = "HOST:PORT")]
    pub listen: Option<String>,
    /// What clients are told to connect to
    #[arg(long, value_name = "HOST:PORT")]
    pub advertise: Option<String>,
    /// Where group state is kept
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<String>,
    /// embedded or memory
    #[arg(long, value_name = "STORE")]
    pub store: Option<String>,
    /// A topic that exists from the start; repeatable
    #[arg(long, value_name = "NAME:PARTITIONS")]
    pub topic: Vec<String>,
    /// Where /metrics, /healthz and /readyz are served, or off
    #[arg(long, value_name = "HOST:PORT")]
    pub http: Option<String>,
    /// Threads that own groups
    #[arg(long, value_name = "N")]
    pub shards: Option<String>,
    /// For tests: time stands still, and moves by `groupd clock advance`
    #[arg(long)]
    pub simulated_clock: bool,
    /// What is logged
    #[arg(long, value_name = "FILTER")]
    pub log: Option<String>,
    /// text or json
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Any setting by its name; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// A TOML file of settings
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl ServeArgs {
    /// Each flag that was given, with its text. Repeated topics are one text, separated by commas.
    pub(crate) fn flags(&self) -> Vec<(&'static str, String)> {
        let topics = (!self.topic.is_empty()).then(|| self.topic.join(","));
        let all = [
            ("--listen", self.listen.clone()),
            ("--advertise", self.advertise.clone()),
            ("--data-dir", self.data_dir.clone()),
            ("--store", self.store.clone()),
            ("--topic", topics),
            ("--http", self.http.clone()),
            ("--shards", self.shards.clone()),
            ("--simulated-clock", self.simulated_clock.then(|| "true".to_owned())),
            ("--log", self.log.clone()),
            ("--log-format", self.log_format.clone()),
        ];
        all.into_iter().filter_map(|(flag, text)| Some((flag, text?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_help_fits_a_screen_and_names_each_flag() {
        assert!(HELP.lines().count() <= 40);
        assert!(HELP.lines().all(|line| line.chars().count() <= 80), "{HELP}");
        let command = Cli::command();
        for argument in command.get_arguments() {
            if let Some(long) = argument.get_long() {
                assert!(HELP.contains(&format!("--{long}")), "--{long} is not in the help");
            }
        }
        for sub in command.get_subcommands() {
            assert!(HELP.contains(sub.get_name()), "{} is not in the help", sub.get_name());
        }
    }

    /// Fails each time in this way.
    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn only_a_reader_that_has_seen_enough_is_no_error() {
        let mut seen = Output::new(Broken(ErrorKind::BrokenPipe));
        assert!(seen.write_all(b"line").and_then(|()| seen.flush()).is_ok());
        for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied, ErrorKind::QuotaExceeded] {
            let error = Output::new(Broken(kind)).write_all(b"line").expect_err("is lost");
            assert!(error.kind() == kind && error.to_string().contains("not whole"), "{error}");
            Output::new(Broken(kind)).flush().expect_err("may be lost");
        }
    }

    #[test]
    fn serve_is_the_command_if_none_is_named() {
        for typed in [&["groupd", "--topic", "a:1"][..], &["groupd", "serve", "--topic", "a:1"]] {
            match Cli::try_parse_from(typed).expect("can be read").into_command() {
                Command::Serve(args) => assert_eq!(args.topic, ["a:1"]),
                other @ (Command::Settings(_) | Command::Store(_) | Command::Admin(_)) => {
                    panic!("{typed:?} is {other:?}")
                }
            }
        }
    }

    #[test]
    fn clap_agrees_with_itself() {
        Cli::command().debug_assert();
    }
}
