//! Accepts connections, as many as there are places.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, gauge};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::connection;
use crate::node::Node;
use crate::telemetry::name;

/// How long to wait when the system cannot give a socket (usually it has no file descriptors left).
const BREATH: Duration = Duration::from_millis(100);

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
        loop {
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
