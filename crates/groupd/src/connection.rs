//! One client's connection: frames in, answers out in the order of the requests, a bounded number of both.
//!
//! Up to [`READ_AHEAD`] requests are in progress at once, so that what a client sends behind its own parked
//! request is served: a LeaveGroup behind a JoinGroup completes it. When as many are in progress, or their
//! answers are not read, nothing more is read from the socket; nor while the requests of all connections together take
//! more than `queued.max.request.bytes`. A connection that ends drops what it has
//! parked: each [`Pending`] tells its shard.

mod delayed;
mod frames;
mod memory;
mod pending;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use metrics::counter;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::apis::{self, Befalls, Client, Refused};
use crate::node::Node;
use crate::telemetry::name;
use delayed::{Delayed, dismissed, released};
use frames::{FrameError, Frames};
use memory::Held;
pub(crate) use memory::{RequestMemory, Share};
pub(crate) use pending::Pending;
use pending::Unanswered;

/// Requests of one connection in progress at once.
const READ_AHEAD: usize = 16;
/// Answers gathered before they are written: one call to the kernel for many.
const WRITE_AT: usize = 64 * 1024;
/// Bytes read beyond the requests in progress: few, but enough to notice a client that goes away.
const READ_BEYOND: usize = 8 * 1024;

/// Why a connection ended, if not by the client's wish.
#[derive(Debug, thiserror::Error)]
enum Closed {
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("no whole request for longer than connections.max.idle.ms")]
    Idle,
    #[error("a large request has not come whole for long, while others waited for the memory it holds")]
    Slow,
    #[error(transparent)]
    Unanswered(#[from] Unanswered),
    #[error("a fault was wanted: {0}")]
    Fault(&'static str),
}

impl Closed {
    /// A client that is gone is nothing to talk about; one that was sent away is.
    fn report(&self, peer: SocketAddr) {
        let reason = match self {
            Self::Io(_) => return tracing::debug!(%peer, "connection lost: {self}"),
            Self::Frame(_) | Self::Refused(_) => "frame",
            Self::Idle => "idle",
            Self::Slow => "slow",
            Self::Unanswered(_) => "unanswered",
            Self::Fault(_) => return tracing::info!(%peer, "connection closed: {self}"),
        };
        tracing::info!(%peer, "connection closed: {self}");
        counter!(name::CONNECTIONS_CLOSED, "reason" => reason).increment(1);
    }
}

/// Serves `stream`, connection number `id`, until it ends, the client does something unforgivable, or the server
/// closes.
pub(crate) async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    id: u64,
    node: Arc<Node>,
    closing: watch::Receiver<bool>,
) {
    // An error: the client is gone already.
    let Ok(reached) = stream.local_addr() else { return };
    let mut connection = Connection {
        frames: Frames::new(node.limits.request_bytes),
        held: Arc::clone(&node.request_memory).hold(),
        pending: VecDeque::new(),
        out: Vec::new(),
        client: Client::new(id, peer, reached),
        delayed: None,
        dismissal: node.testing.as_ref().map(|testing| testing.heard().begin(id)),
        stream,
        node,
    };
    let ended = connection.run(closing).await;
    apis::end(&connection.node, &mut connection.client);
    if let Err(why) = ended {
        why.report(peer);
    }
}

struct Connection {
    stream: TcpStream,
    frames: Frames,
    held: Held,
    /// In the order of the requests.
    pending: VecDeque<Pending>,
    out: Vec<u8>,
    client: Client,
    /// A request that a fault delays: nothing behind it is begun.
    delayed: Option<Delayed>,
    /// On a server for tests: to end when it is notified.
    dismissal: Option<Arc<Notify>>,
    node: Arc<Node>,
}

impl Connection {
    async fn run(&mut self, closing: watch::Receiver<bool>) -> Result<(), Closed> {
        let closing = told_to_close(closing);
        tokio::pin!(closing);
        let mut silence = Silence::new(self.node.limits.idle);
        let mut reading = true;
        while reading || !self.pending.is_empty() {
            let takes = self.pending.len() < READ_AHEAD && self.delayed.is_none();
            let room = takes || self.frames.buffered() < READ_BEYOND;
            tokio::select! {
                biased;
                () = front_is_ready(&mut self.pending), if !self.pending.is_empty() => self.write_ready().await?,
                heard = read_on(&mut self.frames, &mut self.held, &self.stream), if reading && room => {
                    // A client that closes its side wants no answers: what it has parked is dropped.
                    if !heard? {
                        return Ok(());
                    }
                }
                () = dismissed(self.dismissal.as_deref()) => {
                    return Err(Closed::Fault("its client is disconnected"));
                }
                () = released(self.delayed.as_mut()) => self.begin_delayed().await?,
                () = &mut closing, if reading => reading = false,
                () = silence.is_too_long() => {
                    // What is here of a request might never become one.
                    let is_half_read = self.pending.len() < READ_AHEAD && self.frames.buffered() > 0;
                    if self.pending.is_empty() || is_half_read {
                        return Err(Closed::Idle);
                    }
                    // Not silent: the client waits for us.
                    silence.broken();
                }
            }
            // Only a whole request breaks the silence: bytes that trickle in do not.
            if reading && self.take_requests().await? > 0 {
                silence.broken();
            }
        }
        Ok(())
    }

    /// Begins the requests that are here whole, as far as the read-ahead allows. Returns how many.
    async fn take_requests(&mut self) -> Result<usize, Closed> {
        let mut taken = 0;
        while self.pending.len() < READ_AHEAD && self.delayed.is_none() {
            let Some(frame) = self.frames.next()? else { break };
            taken += 1;
            self.client.share = self.held.hand_out(frame.len());
            if let Some(testing) = &self.node.testing
                && let Some(befalls) = apis::befalls(&self.node, testing, &mut self.client, frame)?
            {
                let frame = frame.to_vec();
                self.suffer(befalls, frame).await?;
                self.client.share = None;
                continue;
            }
            if let Some(pending) = apis::begin(&self.node, &mut self.client, frame).await? {
                self.pending.push_back(pending);
            }
            self.client.share = None;
        }
        self.frames.rest();
        Ok(taken)
    }

    /// A fault befalls the request in `frame`.
    async fn suffer(&mut self, befalls: Befalls, frame: Vec<u8>) -> Result<(), Closed> {
        match befalls {
            Befalls::Delay(by, released) => {
                let share = self.client.share.take();
                self.delayed = Some(Delayed::new((frame, share), by, released));
            }
            Befalls::Answer(answer) => self.pending.push_back(answer),
            Befalls::LoseRequest => return Err(Closed::Fault("a request is lost")),
            Befalls::LoseAnswer => {
                let begun = apis::begin(&self.node, &mut self.client, &frame).await?;
                self.pending.extend(begun.map(Pending::lost));
            }
        }
        Ok(())
    }

    /// Begins the request that was delayed.
    async fn begin_delayed(&mut self) -> Result<(), Closed> {
        let Some(Delayed { frame, share, .. }) = self.delayed.take() else { return Ok(()) };
        self.client.share = share;
        self.pending.extend(apis::begin(&self.node, &mut self.client, &frame).await?);
        self.client.share = None;
        Ok(())
    }

    /// Writes the answers at the front that are ready.
    async fn write_ready(&mut self) -> Result<(), Closed> {
        loop {
            while self.out.len() < WRITE_AT {
                let Some(front) = self.pending.pop_front_if(Pending::is_ready) else { break };
                if front.is_lost() {
                    self.flush().await?;
                    return Err(Closed::Fault("an answer is lost"));
                }
                front.write(&self.node, &mut self.client, &mut self.out)?;
            }
            if self.out.is_empty() {
                return Ok(());
            }
            self.flush().await?;
        }
    }

    /// Writes what is gathered, and keeps no buffer. A client that takes nothing for as long as it may be silent is
    /// sent away.
    async fn flush(&mut self) -> Result<(), Closed> {
        let out = std::mem::take(&mut self.out);
        let written = match self.stream.try_write(&out) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error.into()),
        };
        let rest = &out[written..];
        if rest.is_empty() {
            return Ok(());
        }
        let writing = self.stream.write_all(rest);
        match self.node.limits.idle {
            Some(limit) => tokio::time::timeout(limit, writing).await.map_err(|_| Closed::Idle)??,
            None => writing.await?,
        }
        Ok(())
    }
}

/// Reads a little more, once there is room for the request that it is of.
async fn read_on(frames: &mut Frames, held: &mut Held, stream: &TcpStream) -> Result<bool, Closed> {
    if let Some(length) = frames.half_read() {
        held.room_for(length).await;
    }
    tokio::select! {
        biased;
        heard = frames.fill(stream) => Ok(heard?),
        () = held.keeps_others_waiting() => Err(Closed::Slow),
    }
}

/// How long a client has asked nothing.
struct Silence {
    limit: Option<Duration>,
    since: Instant,
    alarm: Pin<Box<tokio::time::Sleep>>,
}

impl Silence {
    /// Silence that begins now, and is too long after `limit`, if there is one.
    fn new(limit: Option<Duration>) -> Self {
        let alarm = Box::pin(tokio::time::sleep(limit.unwrap_or(Duration::MAX)));
        Self { limit, since: Instant::now(), alarm }
    }

    /// The client said something. The alarm is set again only when it goes off: few of them ever do.
    fn broken(&mut self) {
        self.since = Instant::now();
    }

    async fn is_too_long(&mut self) {
        let Some(limit) = self.limit else { return std::future::pending().await };
        loop {
            self.alarm.as_mut().await;
            let ends = self.since + limit;
            if ends <= Instant::now() {
                return;
            }
            self.alarm.as_mut().reset(ends);
        }
    }
}

/// Ends when the server closes.
async fn told_to_close(mut closing: watch::Receiver<bool>) {
    // A server that is gone has closed.
    drop(closing.wait_for(|closing| *closing).await);
}

/// Ends when the answer at the front can be written.
async fn front_is_ready(pending: &mut VecDeque<Pending>) {
    poll_fn(|cx| pending.front_mut().map_or(Poll::Pending, |front| front.poll_ready(cx))).await;
}
