//! The way into a shard: a bounded inbox, and the answer to each request as a future.
//!
//! Bounded by permits rather than by the channel: a connection waits (asynchronously) for a permit before it
//! sends, and the shard gives permits back as it takes messages out. What the shard owes itself (the end of a
//! write, an abandoned request or member id) needs no permit: there is at most one of each per request already let in. A
//! request that goes through two shards gets both permits before it is sent. Markers, and their outcomes, need none:
//! there is at most one for each partition of each transactional id, which are bounded.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use coordinator::ids::{GroupId, MemberId, OffsetsPartition, TopicPartition};
use coordinator::messages::{Request, Response, StoreError, StoreId, Token, TxnOffsetCommit};
use coordinator::transactions::{TransactionRequest, TransactionResponse, TransactionalId};
use crossbeam_channel::{Receiver, Sender};
use tokio::sync::{Semaphore, oneshot};

use super::fetches::Fetch;
use super::loading::Owned;
use super::markers::Mark;
use super::ticks::Ticked;
use super::transactions::{OffsetsQuestion, Unverified};
use crate::connection::Share;
use crate::store::Stored;

/// Requests that wait in one shard's inbox, at most. A turn takes up to [`super::TURN`] of them.
const INBOX: usize = 4096;

/// What a shard is told.
#[derive(Debug)]
pub(crate) enum Message {
    /// A client asks the coordinator.
    Ask(Token, Request, Reply),
    /// A client waits for records that will not come: it is answered when its patience ends.
    Fetch(u64, Fetch, oneshot::Sender<()>),
    /// A client asks the transaction coordinator.
    AskTransactions(Token, TransactionRequest, oneshot::Sender<TransactionResponse>),
    /// A client commits offsets within a transaction of this shard.
    Verify(Token, Box<Unverified>),
    /// The same, of a group of this shard: its transaction's coordinator has been asked.
    Verified(Token, TxnOffsetCommit, Reply),
    /// A transaction ends in a partition of this shard.
    Mark(Mark),
    /// That marker, of a transaction of this shard, is written or is not.
    Marked(TransactionalId, OffsetsPartition, Result<(), StoreError>),
    /// The client behind this token number is gone.
    Abandon(u64),
    /// The client that was given this member id will not use it.
    GiveUp(GroupId, MemberId),
    /// A write of the group coordinator ended.
    Stored(StoreId, Result<(), StoreError>),
    /// A write of the transaction coordinator ended.
    TransactionStored(StoreId, Result<(), StoreError>),
    /// A write of a marker ended.
    MarkerStored(StoreId, Result<(), StoreError>),
    /// These partitions are no more.
    TopicPartitionsDeleted(Vec<TopicPartition>),
    /// A fault was cleared: what it held goes on.
    FaultCleared,
    /// The coordinator of this partition's groups is elsewhere from now on.
    Unload(OffsetsPartition, oneshot::Sender<Result<(), &'static str>>),
    /// It is here again. Answered when it is loaded.
    Load(Box<Owned>, oneshot::Sender<()>),
    /// The clock may have been moved: what is due is to be handled, then this is answered.
    Tick(oneshot::Sender<Ticked>),
    /// Answer all that is parked, then end.
    Stop,
}

/// The way back to a client, with what its request holds of the memory for those that no shard has taken yet.
#[derive(Debug)]
pub(crate) struct Reply {
    to: oneshot::Sender<Response>,
    _share: Option<Arc<Share>>,
}

impl Reply {
    /// The request is taken: only its client still counts.
    pub(super) fn taken(self) -> oneshot::Sender<Response> {
        self.to
    }
}

impl Message {
    /// Whether the sender had to get a permit first.
    pub(crate) fn holds_permit(&self) -> bool {
        match self {
            Self::Ask(..)
            | Self::Fetch(..)
            | Self::AskTransactions(..)
            | Self::Verify(..)
            | Self::Verified(..) => true,
            Self::Mark(_)
            | Self::Marked(..)
            | Self::Abandon(_)
            | Self::GiveUp(..)
            | Self::Stored(..)
            | Self::TransactionStored(..)
            | Self::MarkerStored(..)
            | Self::TopicPartitionsDeleted(_)
            | Self::FaultCleared
            | Self::Unload(..)
            | Self::Load(..)
            | Self::Tick(_)
            | Self::Stop => false,
        }
    }
}

impl Message {
    /// What the coordinator is asked, if it is.
    pub(crate) fn request(&self) -> Option<&Request> {
        if let Self::Ask(_, request, _) = self { Some(request) } else { None }
    }

    /// How much work it is, in offsets named.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Ask(_, Request::OffsetCommit(commit), _) => commit.offsets.len(),
            Self::Ask(_, Request::TxnOffsetCommit(request), _) | Self::Verified(_, request, _) => {
                request.commit.offsets.len()
            }
            Self::Ask(_, Request::OffsetFetch(fetch), _) => fetch.partitions.as_ref().map_or(1, Vec::len),
            Self::TopicPartitionsDeleted(partitions) => partitions.len(),
            Self::Ask(..)
            | Self::Fetch(..)
            | Self::AskTransactions(..)
            | Self::Verify(..)
            | Self::Mark(_)
            | Self::Marked(..)
            | Self::Abandon(_)
            | Self::GiveUp(..)
            | Self::Stored(..)
            | Self::TransactionStored(..)
            | Self::MarkerStored(..)
            | Self::FaultCleared
            | Self::Unload(..)
            | Self::Load(..)
            | Self::Tick(_)
            | Self::Stop => 1,
        }
    }
}

impl crate::store::commit::Inbox for Inbox {
    fn stored(&self, stored: Stored) {
        self.send(Message::Stored(stored.id, stored.result));
    }
}

/// An inbox, for the writes of its shard's transaction coordinator.
#[derive(Debug)]
pub(crate) struct OfTransactions(pub(crate) Inbox);

impl crate::store::commit::Inbox for OfTransactions {
    fn stored(&self, stored: Stored) {
        self.0.send(Message::TransactionStored(stored.id, stored.result));
    }
}

/// An inbox, for the markers its shard writes.
#[derive(Debug)]
pub(crate) struct OfMarkers(pub(crate) Inbox);

impl crate::store::commit::Inbox for OfMarkers {
    fn stored(&self, stored: Stored) {
        self.0.send(Message::MarkerStored(stored.id, stored.result));
    }
}

/// One shard's inbox, for all who send to it.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    sender: Sender<Message>,
    room: Arc<Semaphore>,
}

/// The shard's own end.
#[derive(Debug)]
pub(crate) struct Outlet {
    pub(crate) messages: Receiver<Message>,
    room: Arc<Semaphore>,
}

impl Outlet {
    /// `taken` permits go back.
    pub(crate) fn make_room(&self, taken: usize) {
        if taken > 0 {
            self.room.add_permits(taken);
        }
    }
}

impl Inbox {
    /// An inbox and its other end.
    pub(crate) fn new() -> (Self, Outlet) {
        let (sender, messages) = crossbeam_channel::unbounded();
        let room = Arc::new(Semaphore::new(INBOX));
        (Self { sender, room: Arc::clone(&room) }, Outlet { messages, room })
    }

    /// Puts `request` into the inbox, waiting for room; the answer is awaited with what this returns.
    pub(crate) async fn ask(
        &self,
        number: u64,
        request: Request,
        share: Option<Arc<Share>>,
    ) -> Answer<Response> {
        self.take_room().await;
        let (to, receiver) = oneshot::channel();
        self.send(Message::Ask(Token::new(number), request, Reply { to, _share: share }));
        Answer::new(number, self.clone(), receiver)
    }

    /// Asks the shard's transaction coordinator, as [`Inbox::ask`].
    pub(crate) async fn ask_transactions(
        &self,
        number: u64,
        request: TransactionRequest,
    ) -> Answer<TransactionResponse> {
        self.take_room().await;
        let (reply, receiver) = oneshot::channel();
        self.send(Message::AskTransactions(Token::new(number), request, reply));
        Answer::new(number, self.clone(), receiver)
    }

    /// Sends `commit` to the shard of its transaction, which will hand it on to this one. There must be room in both.
    pub(super) fn expect_commit(
        &self,
        number: u64,
        transactions: &Self,
        (question, commit): (OffsetsQuestion, TxnOffsetCommit),
        share: Option<Arc<Share>>,
    ) -> Answer<Response> {
        let (to, receiver) = oneshot::channel();
        let reply = Reply { to, _share: share };
        let unverified = Box::new(Unverified { question, commit, reply });
        transactions.send(Message::Verify(Token::new(number), unverified));
        Answer::new(number, self.clone(), receiver)
    }

    /// Waits for room in each of two inboxes, which may be one.
    pub(super) async fn take_room_in_both(first: &Self, second: &Self) {
        const OPEN: &str = "invariant: the semaphore is never closed";
        if Arc::ptr_eq(&first.room, &second.room) {
            return first.room.acquire_many(2).await.expect(OPEN).forget();
        }
        // Both are held until both are there: a request that is dropped meanwhile gives the first one back.
        let one = first.room.acquire().await.expect(OPEN);
        second.room.acquire().await.expect(OPEN).forget();
        one.forget();
    }

    /// Parks a fetch, waiting for room in the inbox.
    pub(crate) async fn fetch(&self, number: u64, fetch: Fetch) -> Answer<()> {
        self.take_room().await;
        let (reply, receiver) = oneshot::channel();
        self.send(Message::Fetch(number, fetch, reply));
        Answer::new(number, self.clone(), receiver)
    }

    /// Sends without a permit. A shard that has ended hears nothing: its senders' answers are dropped with the
    /// message, which is how they learn of it.
    pub(crate) fn send(&self, message: Message) {
        drop(self.sender.send(message));
    }

    async fn take_room(&self) {
        let permit = self.room.acquire().await.expect("invariant: the semaphore is never closed");
        permit.forget();
    }
}

/// The shard ended, or will not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoAnswer;

/// An answer to come. Dropped before it came, it tells the shard that nobody waits.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    number: u64,
    inbox: Inbox,
    receiver: Option<oneshot::Receiver<T>>,
}

impl<T> Answer<T> {
    fn new(number: u64, inbox: Inbox, receiver: oneshot::Receiver<T>) -> Self {
        Self { number, inbox, receiver: Some(receiver) }
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T, NoAnswer>;

    /// # Panics
    ///
    /// When polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let receiver = self.receiver.as_mut().expect("invariant: an answer is taken once");
        let outcome = std::task::ready!(Pin::new(receiver).poll(cx));
        self.receiver = None;
        Poll::Ready(outcome.map_err(|_| NoAnswer))
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        if self.receiver.is_some() {
            self.inbox.send(Message::Abandon(self.number));
        }
    }
}
