//! Flags, settings, start; then waits for the signal to stop.

use std::io::BufWriter;
use std::io::Write;
use std::process::ExitCode;

use groupd::cli::{self, Cli, Command, EXIT_USAGE, Output};
use groupd::server::{Server, StopCause, StopSignals};
use groupd::settings::{Settings, SettingsError, StoreKind};
use groupd::telemetry;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match Cli::read().into_command() {
        Command::Serve(args) => match Settings::load(&args) {
            Ok(settings) => done(serve(&settings)),
            Err(error) => refuse(&error),
        },
        Command::Settings(args) => match args.listing() {
            Ok(text) => done(cli::print(&text).map_err(Into::into)),
            Err(error) => refuse(&error),
        },
        Command::Store(command) => {
            // Standard output itself holds back what comes after the last line's end: flushed by the command.
            let out = Output::new(std::io::stdout().lock());
            done(command.run(std::io::stdin().lock(), BufWriter::new(out)))
        }
        Command::Admin(command) => groupd::admin::run(&command),
    }
}

fn refuse(error: &SettingsError) -> ExitCode {
    for problem in error.problems() {
        cli::complain(problem);
    }
    ExitCode::from(EXIT_USAGE)
}

fn done(outcome: anyhow::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cli::complain(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Serves until the process is told to end.
fn serve(settings: &Settings) -> anyhow::Result<()> {
    telemetry::start_logs(settings)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut signals = StopSignals::catch(&runtime)?;
    let mut server = Server::start_on(runtime, settings)?;
    // Whoever started us may have closed its end: no reason not to serve.
    let _ = std::io::stdout().write_all(greeting(&server, settings).as_bytes());
    let outcome = match server.wait(&mut signals) {
        StopCause::Signal(name) => {
            tracing::info!("{name}: answering what is parked, then leaving");
            Ok(())
        }
        StopCause::Failed(why) => Err(why),
    };
    server.stop();
    outcome
}

/// Where the server listens, where its data is, which topics it has, and a line to try it with.
fn greeting(server: &Server, settings: &Settings) -> String {
    let address = server.address();
    let advertised = match &settings.advertise {
        Some(advertise) => format!(", known to clients as {advertise}"),
        None => String::new(),
    };
    let data = match settings.store {
        StoreKind::Embedded => format!("in {}", settings.data_dir.display()),
        StoreKind::Memory => "in memory: gone when this process ends".to_owned(),
    };
    let http = match server.http_address() {
        Some(http) => format!("http://{http}/metrics /healthz /readyz"),
        None => "off".to_owned(),
    };
    let topics = server.topics();
    let try_topic = topics.first().map_or("orders", |(name, _)| name.as_str());
    format!(
        "groupd {version}\n{clock}  clients  {address}{advertised}\n  data     {data}\n  topics   {topics}\n  \
         metrics  {http}\n  try      kcat -b {address} -G my-group {try_topic}\n",
        version = env!("CARGO_PKG_VERSION"),
        topics = list(&topics),
        clock = simulated_clock(server, settings),
    )
}

/// Nobody is to take a server for tests for another.
fn simulated_clock(server: &Server, settings: &Settings) -> String {
    let Some(now) = server.simulated_clock() else { return String::new() };
    let http = server.http_address().map_or(String::new(), |http| format!(" --http {http}"));
    let delay = humantime::format_duration(settings.group_initial_rebalance_delay);
    let joins = if settings.group_initial_rebalance_delay.is_zero() {
        String::new()
    } else {
        format!(
            "           a first join waits for {delay} of that time: \
             --set group.initial.rebalance.delay.ms=0 spares it\n"
        )
    };
    format!(
        "  CLOCK    SIMULATED: FOR TESTS ONLY. Time stands still at {now}\n           \
         and moves by: groupd clock advance 45s{http}\n{joins}"
    )
}

/// The first few topics, and how many more.
fn list(topics: &[(String, i32)]) -> String {
    const SHOWN: usize = 8;
    if topics.is_empty() {
        return "none yet: --topic orders:12 makes one, and so does a client that asks".to_owned();
    }
    let shown: Vec<_> = topics.iter().take(SHOWN).map(|(name, count)| format!("{name}:{count}")).collect();
    match topics.len().saturating_sub(SHOWN) {
        0 => shown.join(" "),
        more => format!("{} and {more} more", shown.join(" ")),
    }
}
