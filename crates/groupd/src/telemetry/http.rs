//! Answers `GET /metrics`, `/healthz` and `/readyz`, and on a server for tests the commands of [`crate::testing`]: the
//! little of HTTP/1.1 that needs, one request a connection, everything bounded.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{Health, Metrics};
use crate::server::Commands;
use crate::settings::HostPort;
use crate::testing::{Called, Reply};

/// The longest request line and headers, bytes.
const MAX_HEAD: usize = 8 * 1024;
/// How long one connection may take to ask, and to take its answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many connections are served at once; the next waits in the listener's backlog.
const MAX_CONNECTIONS: usize = 32;
/// How often histograms are folded.
const UPKEEP: Duration = Duration::from_secs(5);

/// Takes the address.
///
/// # Errors
///
/// If it is taken or not ours, with what to do about it.
pub async fn bind(address: &HostPort) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address.pair()).await.with_context(|| {
        format!("cannot serve metrics and health on {address}: choose another with --http HOST:PORT, or --http off")
    })
}

/// Serves metrics and health until dropped.
pub async fn serve(listener: TcpListener, health: Health, metrics: Metrics) {
    serve_with(listener, health, metrics, None).await;
}

/// The same, and `commands`, on a server for tests.
pub(crate) async fn serve_with(
    listener: TcpListener,
    health: Health,
    metrics: Metrics,
    commands: Option<Commands>,
) {
    let asked = Arc::new(Answers { health, metrics, commands });
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut upkeep = interval(UPKEEP);
    upkeep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let place = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            _ = upkeep.tick() => asked.metrics.upkeep(),
            (place, accepted) = place => match accepted {
                Ok((stream, _)) => {
                    let answers = Arc::clone(&asked);
                    tokio::spawn(async move {
                        // A client that is too slow or gone has nobody to tell.
                        drop(answers.serve(stream).await);
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection for metrics and health");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }
}

/// All that is answered with.
struct Answers {
    health: Health,
    metrics: Metrics,
    commands: Option<Commands>,
}

/// The head of a request, or why it is none.
type Head = Result<Vec<u8>, String>;

impl Answers {
    async fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let Some(head) = timeout(PATIENCE, read_head(&mut stream)).await?? else { return Ok(()) };
        let response = match head {
            Ok(head) => self.respond(&head).await,
            Err(refused) => refused,
        };
        timeout(PATIENCE, async {
            stream.write_all(response.as_bytes()).await?;
            stream.shutdown().await
        })
        .await?
    }

    async fn respond(&self, head: &[u8]) -> String {
        let mut lines = head.split(|byte| *byte == b'\r');
        let Ok(line) = std::str::from_utf8(lines.next().unwrap_or_default()) else {
            return plain(400, "this is not HTTP\n");
        };
        let words: Vec<_> = line.split(' ').collect();
        let &[method, target, version] = words.as_slice() else { return plain(400, "this is not HTTP\n") };
        if !version.starts_with("HTTP/1.") {
            return plain(400, "HTTP/1.1 is spoken here\n");
        }
        if let Some(commands) = &self.commands {
            let from_page = lines.any(|line| line.to_ascii_lowercase().starts_with(b"\norigin:"));
            let called = Called { method, target, from_page };
            if called.is_known() {
                return command(commands, called).await;
            }
        }
        self.look_up(method, target)
    }

    fn look_up(&self, method: &str, target: &str) -> String {
        let path = target.split('?').next().unwrap_or(target);
        let response = match path {
            "/metrics" => with_type(200, "text/plain; version=0.0.4; charset=utf-8", &self.metrics.render()),
            "/healthz" => plain(200, "alive\n"),
            "/readyz" => {
                let readiness = self.health.readiness();
                plain(if readiness.is_ready() { 200 } else { 503 }, &format!("{}\n", readiness.describe()))
            }
            _ => plain(404, "here are /metrics, /healthz and /readyz\n"),
        };
        match method {
            "GET" => response,
            "HEAD" => response.split_inclusive("\r\n\r\n").next().unwrap_or_default().to_owned(),
            _ => plain(405, "only GET and HEAD are served\n"),
        }
    }
}

async fn command(commands: &Commands, called: Called<'_>) -> String {
    let Some(testing) = commands.get() else { return plain(503, "the server is still starting\n") };
    let Reply { status, body } = testing.answer(called).await;
    with_type(status, "application/json", &format!("{body}\n"))
}

/// Reads up to the end of a request's head; `None`: the client is gone.
async fn read_head(stream: &mut TcpStream) -> std::io::Result<Option<Head>> {
    let mut head = Vec::with_capacity(512);
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        if head.len() >= MAX_HEAD {
            return Ok(Some(Err(plain(431, "the request head is too large\n"))));
        }
        let room = (MAX_HEAD - head.len()) as u64;
        if (&mut *stream).take(room).read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(Ok(head)))
}

fn plain(status: u16, body: &str) -> String {
    with_type(status, "text/plain; charset=utf-8", body)
}

fn with_type(status: u16, content_type: &str, body: &str) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        431 => "Request Header Fields Too Large",
        _ => "Service Unavailable",
    };
    let allow = if status == 405 { "Allow: GET, HEAD\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status} {reason}\r\n{allow}Content-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}
