//! Answers `GET /metrics`, `/healthz` and `/readyz`: the little of HTTP/1.1 that needs, one request a
//! connection, everything bounded.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{Health, Metrics};
use crate::settings::HostPort;

/// The longest request line and headers, bytes.
const MAX_HEAD: usize = 8 * 1024;
/// How long one connection may take from accept to close.
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

/// Serves until dropped.
pub async fn serve(listener: TcpListener, health: Health, metrics: Metrics) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut upkeep = interval(UPKEEP);
    upkeep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let place = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            _ = upkeep.tick() => metrics.upkeep(),
            (place, accepted) = place => match accepted {
                Ok((stream, _)) => {
                    let (health, metrics) = (health.clone(), metrics.clone());
                    tokio::spawn(async move {
                        // A client that is too slow or gone has nobody to tell.
                        drop(timeout(PATIENCE, answer(stream, &health, &metrics)).await);
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

async fn answer(mut stream: TcpStream, health: &Health, metrics: &Metrics) -> std::io::Result<()> {
    let mut head = Vec::with_capacity(512);
    let response = loop {
        if head.windows(4).any(|window| window == b"\r\n\r\n") {
            break respond(&head, health, metrics);
        }
        if head.len() >= MAX_HEAD {
            break plain(431, "the request head is too large\n");
        }
        let room = (MAX_HEAD - head.len()) as u64;
        if (&mut stream).take(room).read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    };
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

fn respond(head: &[u8], health: &Health, metrics: &Metrics) -> String {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else { return plain(400, "this is not HTTP\n") };
    let words: Vec<_> = line.split(' ').collect();
    let &[method, target, version] = words.as_slice() else { return plain(400, "this is not HTTP\n") };
    if !version.starts_with("HTTP/1.") {
        return plain(400, "HTTP/1.1 is spoken here\n");
    }
    let path = target.split('?').next().unwrap_or(target);
    let response = match path {
        "/metrics" => with_type(200, "text/plain; version=0.0.4; charset=utf-8", &metrics.render()),
        "/healthz" => plain(200, "alive\n"),
        "/readyz" => {
            let readiness = health.readiness();
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

fn plain(status: u16, body: &str) -> String {
    with_type(status, "text/plain; charset=utf-8", body)
}

fn with_type(status: u16, content_type: &str, body: &str) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
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
