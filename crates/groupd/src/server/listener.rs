//! Accepts connections, as many as there are places.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use metrics::{counter, gauge};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use crate::connection;
use crate::node::Node;
use crate::settings::HostPort;
use crate::telemetry::name;

/// How long to wait when the system cannot give a socket (usually it has no file descriptors left).
const BREATH: Duration = Duration::from_millis(100);

/// How often it is said that all places are taken.
const WARN_EVERY: Duration = Duration::from_mins(1);

/// Clients that may wait to be accepted (the system may allow fewer): a whole fleet that comes back at once.
const BACKLOG: u32 = 4096;

/// Listens on `at`.
///
/// # Errors
///
/// What is in the way, with a way out.
pub(super) async fn listen(at: &HostPort) -> anyhow::Result<TcpListener> {
    try_listen(at)
        .await
        .with_context(|| format!("cannot listen on {at}: choose another with --listen HOST:PORT"))
}

async fn try_listen(at: &HostPort) -> std::io::Result<TcpListener> {
    let mut failed = Error::new(ErrorKind::NotFound, "the name has no address");
    for address in lookup_host(at.pair()).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Connections of an earlier run may linger.
        socket.set_reuseaddr(true)?;
        match socket.bind(address).and_then(|()| socket.listen(BACKLOG)) {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Accepts until the server closes. Beyond `places` clients wait in the system's own queue until one leaves.
pub(super) async fn accept(
    listener: TcpListener,
    node: Arc<Node>,
    places: Arc<Semaphore>,
    closing: watch::Receiver<bool>,
) {
    let mut told = closing.clone();
    let accepting = async {
        let mut id = 0;
        let mut warned = None;
        loop {
            if places.available_permits() == 0 && warned.is_none_or(|at: Instant| at.elapsed() > WARN_EVERY) {
                tracing::warn!("max.connections clients are connected: others wait until one leaves");
                warned = Some(Instant::now());
            }
            let place = Arc::clone(&places).acquire_owned().await.expect("invariant: never closed");
            let (stream, peer) = next(&listener).await;
            id += 1;
            begin(stream, peer, id, &node, place, closing.clone());
        }
    };
    tokio::select! {
        () = accepting => {}
        _ = told.wait_for(|closing| *closing) => {}
    }
}

async fn next(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

fn begin(
    stream: TcpStream,
    peer: SocketAddr,
    id: u64,
    node: &Arc<Node>,
    place: OwnedSemaphorePermit,
    closing: watch::Receiver<bool>,
) {
    // Without it each answer may wait 40 ms for the client's acknowledgement of the one before.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, "TCP_NODELAY cannot be set: {error}");
    }
    let open = Open::new(place);
    let serving = connection::serve(stream, peer, id, Arc::clone(node), closing);
    // A panic ends this task, and with it this connection, and nothing else.
    tokio::spawn(async move {
        serving.await;
        drop(open);
    });
}

/// An open connection: its place, and its share of the gauge.
struct Open {
    _place: OwnedSemaphorePermit,
}

impl Open {
    fn new(place: OwnedSemaphorePermit) -> Self {
        counter!(name::CONNECTIONS_TOTAL).increment(1);
        gauge!(name::CONNECTIONS).increment(1);
        Self { _place: place }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        gauge!(name::CONNECTIONS).decrement(1);
    }
}
