//! THE loop: one thread, one coordinator of groups and one of transactions, one reading of the clock a turn.
//!
//! A turn takes what is in the inbox (up to [`TURN`] messages), lets the coordinator handle it and then, if nothing that
//! had arrived by now is left, lets it expire what is due; then it carries out what the coordinator says: answers to connections, writes to the store, events to the log. Then the shard sleeps until the
//! next message or exactly the next deadline. Byte layouts and error codes are not known here.
//!
//! A shard that panics has a coordinator whose state cannot be trusted: it takes the process down. What was
//! acknowledged is in the store, so that a restart goes on from there; going on without it would not.

mod deletions;
mod due;
mod fetches;
mod gauges;
mod inbox;
mod loading;
mod markers;
mod moves;
mod owned;
mod progress;
mod routing;
mod store_faults;
mod ticks;
mod transactions;

use std::sync::Arc;
use std::time::Duration;

use coordinator::Coordinator;
use coordinator::ids::OwnerEpoch;
use coordinator::messages::{Input, Output, Request, Response, Token};
use coordinator::transactions::TransactionCoordinator;
use crossbeam_channel::{Receiver, RecvTimeoutError, select};
use hashbrown::HashMap;
use purgatory::Timestamp;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::clock::{Now, ServerClock};
use crate::events_log::EventsLog;
use crate::histories::ShardHistory;
use crate::store::{CommitThread, StoreHandle};
use crate::testing::Faults;
use deletions::Deletions;
use due::Due;
use fetches::Fetches;
use gauges::Gauges;
use inbox::{OfMarkers, OfTransactions, Outlet};
use loading::Loading;
use markers::Markers;
use owned::OwnedPartitions;
use store_faults::StoreFaults;
use ticks::Ticks;
use transactions::Transactions;

pub(crate) use fetches::Fetch;
pub(crate) use inbox::{Answer, Inbox, Message, NoAnswer};
pub(crate) use loading::Owned;
pub(crate) use routing::{Shards, shard_of};
pub(crate) use ticks::{Tally, Ticked};
pub(crate) use transactions::OffsetsQuestion;

/// Messages handled in one turn, at most: what they want written goes to the store together.
const TURN: usize = 256;
/// Messages of a turn that are looked at together before each is handled: see [`Coordinator::look_ahead`].
const AT_HAND: usize = 16;
/// Offsets named by the messages of one turn, about: others are answered before a turn of large commits goes on.
const TURN_WEIGHT: usize = 10_000;
/// Why the inbox never ends.
const SENDER: &str = "invariant: the store can always send to its shard's inbox";
/// How long a stopping shard waits for writes that are on their way, ms.
const STOP_WAIT_MS: u64 = 5_000;

/// What a shard tells the server.
#[derive(Debug)]
pub(crate) enum Report {
    /// All it owns is loaded.
    Loaded,
    /// It cannot go on.
    Failed(anyhow::Error),
}

/// What a turn begins with.
enum Wake {
    Message(Message),
    Loading(Loading),
    /// All that was to be loaded is.
    Loaded,
    Deadline,
}

/// The single owner of some partitions' groups.
pub(crate) struct Shard {
    coordinator: Coordinator,
    transactions: Transactions,
    markers: Markers,
    /// Its own inbox.
    own: Inbox,
    outlet: Outlet,
    store: StoreHandle,
    clock: ServerClock,
    /// The way back to each client that waits for the coordinator, by the number of its token.
    open: HashMap<u64, oneshot::Sender<Response>, foldhash::fast::RandomState>,
    deletions: Deletions,
    fetches: Fetches,
    due: Due,
    /// Taken out of the inbox and not handled yet: empty between turns.
    at_hand: Vec<Message>,
    events: EventsLog,
    history: ShardHistory,
    owned: OwnedPartitions,
    /// What is read of it; none once all is loaded.
    loading: Option<Receiver<Loading>>,
    /// Who waits for a partition that is loaded anew, after the first loading.
    loads_again: Option<oneshot::Sender<()>>,
    /// The group coordinator's writes whose outcome is not known yet.
    writes: usize,
    store_faults: StoreFaults,
    /// Who waits for what a move of the clock brings.
    ticks: Ticks,
    /// Told to stop; until then at most, by the host's clock.
    stopping: Option<Timestamp>,
    gauges: Gauges,
}

impl Shard {
    /// Shard number `index` of `shards`, which owns nothing yet.
    pub(crate) fn new(
        index: usize,
        coordinators: (Coordinator, TransactionCoordinator),
        shards: &Shards,
        outlet: Outlet,
        commits: &CommitThread,
        (clock, faults): (ServerClock, Option<Arc<Faults>>),
        history: ShardHistory,
    ) -> Self {
        let (coordinator, transactions) = coordinators;
        let own = shards.all()[index].clone();
        let of_transactions = commits.handle(Arc::new(OfTransactions(own.clone())));
        Self {
            coordinator,
            transactions: Transactions::new(transactions, shards.clone(), own.clone(), of_transactions),
            markers: Markers::new(commits.handle(Arc::new(OfMarkers(own.clone())))),
            outlet,
            store: commits.handle(Arc::new(own.clone())),
            own,
            open: HashMap::default(),
            deletions: Deletions::default(),
            fetches: Fetches::new(clock.now().host),
            clock,
            due: Due::default(),
            at_hand: Vec::with_capacity(AT_HAND),
            events: EventsLog::default(),
            history,
            owned: OwnedPartitions::default(),
            loading: None,
            loads_again: None,
            writes: 0,
            store_faults: StoreFaults::new(faults),
            ticks: Ticks::default(),
            stopping: None,
            gauges: Gauges::new(index),
        }
    }

    /// Loads what it is to own, serves until told to stop, then answers what is parked. Clients are served from the
    /// start: those of a partition that is still loading are told so.
    pub(crate) fn run(&mut self, owned: Vec<Owned>, reports: &UnboundedSender<Report>) {
        let now = self.clock.now().groups;
        for Owned { partition, epoch, .. } in &owned {
            self.owned.begin(*partition, *epoch);
            self.coordinator.handle(now, Input::BeginLoad(*partition, *epoch));
        }
        match loading::start(owned) {
            Ok(loading) => self.loading = Some(loading),
            Err(error) => return report(reports, Report::Failed(error.into())),
        }
        while !self.is_done() {
            match self.sleep() {
                Wake::Deadline => self.turn(None),
                Wake::Message(message) => self.turn(Some(message)),
                Wake::Loading(loading) => match self.take(loading) {
                    Ok(()) => self.turn(None),
                    Err(why) => return report(reports, Report::Failed(why)),
                },
                Wake::Loaded => {
                    self.loading = None;
                    if let Some(reply) = self.loads_again.take() {
                        // Whoever asked for it may be gone.
                        let _ = reply.send(());
                    } else {
                        self.transactions.finish_load(self.clock.now().groups);
                        self.turn(None);
                        report(reports, Report::Loaded);
                    }
                }
            }
        }
        self.stop();
    }

    /// Waits for a message, something loaded, or the next deadline.
    fn sleep(&self) -> Wake {
        let groups = [self.coordinator.next_deadline(), self.transactions.next_deadline()];
        let host = [self.fetches.next_deadline(), self.gauges.due(), self.store_faults.due(), self.stopping];
        let (groups, host) = (groups.into_iter().flatten().min(), host.into_iter().flatten().min());
        let behind = self.ticks.is_behind().then_some(Duration::ZERO);
        let patience = behind.or_else(|| self.clock.patience(groups, host));
        if let Some(loading) = &self.loading {
            return select! {
                recv(self.outlet.messages) -> message => Wake::Message(message.expect(SENDER)),
                recv(loading) -> loading => loading.map_or(Wake::Loaded, Wake::Loading),
                default(patience.unwrap_or(Duration::MAX)) => Wake::Deadline,
            };
        }
        let message = match patience {
            None => self.outlet.messages.recv().map_err(RecvTimeoutError::from),
            Some(patience) => self.outlet.messages.recv_timeout(patience),
        };
        match message {
            Ok(message) => Wake::Message(message),
            Err(RecvTimeoutError::Timeout) => Wake::Deadline,
            Err(RecvTimeoutError::Disconnected) => unreachable!("{SENDER}"),
        }
    }

    fn take(&mut self, loading: Loading) -> anyhow::Result<()> {
        let Now { groups: now, host } = self.clock.now();
        self.gauges.touch(host);
        self.coordinator.expire(now);
        match loading {
            Loading::Chunk(partition, kept) => {
                self.coordinator.handle(now, Input::Load(partition, kept.groups));
                // Those were not given up with a partition that is loaded again.
                if self.loads_again.is_none() {
                    self.transactions.load(now, kept.transactions);
                }
            }
            Loading::Finished(partition) => {
                self.coordinator.handle(now, Input::FinishLoad(partition));
                self.owned.loaded(partition);
                self.markers.loaded(partition, &self.owned);
            }
            Loading::Failed(why) => return Err(why),
        }
        Ok(())
    }

    /// One turn, which begins with `first`.
    fn turn(&mut self, first: Option<Message>) {
        let now = self.clock.now();
        self.due.begin(now, usize::from(first.is_some()) + self.outlet.messages.len());
        let mut next = first;
        let (mut permits, mut weight) = (0, 0);
        let mut at_hand = std::mem::take(&mut self.at_hand);
        for _ in 0..TURN / AT_HAND {
            while at_hand.len() < AT_HAND && weight <= TURN_WEIGHT {
                let Some(message) = next.take().or_else(|| self.outlet.messages.try_recv().ok()) else {
                    break;
                };
                permits += usize::from(message.holds_permit());
                weight += message.weight();
                at_hand.push(message);
            }
            if at_hand.is_empty() {
                break;
            }
            self.coordinator.look_ahead(at_hand.iter().filter_map(Message::request));
            for message in at_hand.drain(..) {
                self.handle(now, message);
                self.due.handled();
            }
        }
        self.at_hand = at_hand;
        while let Some(outcome) = self.store_faults.next(now.host) {
            self.stored(now.groups, outcome);
        }
        if let Some(until) = self.due.take() {
            self.coordinator.expire(until.groups);
            self.transactions.expire(until.groups);
            self.fetches.expire(until.host);
            self.ticks.expired(until.groups);
        }
        self.outlet.make_room(permits);
        self.carry_out(now);
        self.answer_ticks();
        self.gauges.publish(now.host, &self.coordinator, self.transactions.coordinator(), &self.fetches);
    }

    fn handle(&mut self, at: Now, message: Message) {
        let Now { groups: now, host } = at;
        self.gauges.touch(host);
        match message {
            Message::Ask(token, request, reply) => self.ask(now, token, request, reply.taken()),
            Message::AskTransactions(token, request, reply) => {
                self.transactions.ask(now, token, request, reply);
            }
            Message::Verify(token, unverified) => self.transactions.verify(now, token, *unverified),
            Message::Verified(token, commit, reply) => {
                self.ask(now, token, Request::TxnOffsetCommit(commit), reply.taken());
            }
            Message::Mark(mark) => {
                // The offsets that were pended before go into the log before it.
                self.carry_out(at);
                self.markers.write(mark, &self.owned);
            }
            Message::Marked(id, partition, outcome) => {
                self.transactions.marked(now, id, partition, outcome);
            }
            Message::Fetch(number, fetch, reply) => self.fetches.park(host, number, fetch, reply),
            Message::Abandon(number) => {
                if self.open.remove(&number).is_some() {
                    self.coordinator.handle(now, Input::Abandon(number));
                }
                self.transactions.abandon(number);
                self.fetches.abandon(number);
            }
            Message::GiveUp(group, member) => self.coordinator.handle(now, Input::GiveUp(group, member)),
            message @ (Message::Stored(..) | Message::MarkerStored(..)) => {
                self.ticks.arrived();
                if let Some(message) = self.store_faults.arrived(host, message) {
                    self.stored(now, message);
                }
            }
            Message::TransactionStored(id, outcome) => {
                self.ticks.arrived();
                self.transactions.stored(now, id, outcome);
            }
            Message::TopicPartitionsDeleted(partitions) => {
                for partition in &partitions {
                    self.fetches.topic_deleted(&partition.topic);
                }
                self.coordinator.handle(now, Input::TopicPartitionsDeleted(partitions));
            }
            // The turn looks what is still held.
            Message::FaultCleared => {}
            Message::Unload(partition, reply) => {
                let outcome = self.give_up(at, partition);
                // Whoever asked for it is gone.
                let _ = reply.send(outcome);
            }
            Message::Load(owned, reply) => self.load_again(now, *owned, reply),
            Message::Stop => {
                self.store_faults.release();
                self.stopping = Some(host.saturating_add(STOP_WAIT_MS));
            }
            Message::Tick(reply) => self.ticks.wait(now, reply),
        }
    }

    /// A write ended, of a group or a marker.
    fn stored(&mut self, now: Timestamp, message: Message) {
        match message {
            Message::Stored(id, outcome) => {
                self.writes -= 1;
                self.deletions.reported(id, outcome);
                self.coordinator.handle(now, Input::Stored(id, outcome));
            }
            Message::MarkerStored(id, outcome) => {
                if let Some(ended) = self.markers.stored(id, outcome) {
                    self.coordinator.handle(now, ended.input());
                    ended.answer();
                }
            }
            other => unreachable!("invariant: only outcomes are held, not {other:?}"),
        }
    }

    fn ask(&mut self, now: Timestamp, token: Token, request: Request, reply: oneshot::Sender<Response>) {
        self.open.insert(token.number(), reply);
        self.coordinator.handle(now, Input::Request(token, request));
    }

    /// Does what the coordinators say.
    fn carry_out(&mut self, Now { groups: now, host }: Now) {
        while let Some(output) = self.coordinator.poll_output() {
            self.gauges.touch(host);
            match output {
                Output::Respond(token, response) => {
                    // No longer open: its client went away, and its Abandon has been handled.
                    if let Some(reply) = self.open.remove(&token.number()) {
                        self.deletions.respond(reply, response);
                    }
                }
                // Its client asked again, elsewhere: it gets no answer, and its connection ends.
                Output::Superseded(token) => drop(self.open.remove(&token.number())),
                Output::Store(write) => {
                    self.writes += 1;
                    self.deletions.asked(write.id);
                    match self.store_faults.refuse(&write) {
                        None => self.store.store(&write),
                        Some(error) => self.own.send(Message::Stored(write.id, Err(error))),
                    }
                }
                Output::Event(event) => {
                    self.ticks.count(&event.kind);
                    self.history.record(&event);
                    self.events.record(&event);
                }
            }
        }
        self.transactions.carry_out(now, &self.owned);
    }

    /// Tells whoever moved the clock, if all that this brought is done.
    fn answer_ticks(&mut self) {
        if self.ticks.is_empty() {
            return;
        }
        let deadlines = [self.coordinator.next_deadline(), self.transactions.next_deadline()];
        let ticked = Ticked {
            next_deadline: deadlines.into_iter().flatten().min(),
            open_transactions: self.transactions.coordinator().open() > 0,
            busy: self.transactions.writing() + self.markers.writing() > 0,
            tally: Tally {
                operations_expired: self.coordinator.stats().operations_expired,
                transactions_timed_out: self.transactions.timed_out(),
                ..self.ticks.events()
            },
        };
        for reply in self.ticks.take(self.writes() - self.store_faults.held()) {
            // Whoever moved the clock is gone with the server.
            let _ = reply.send(ticked);
        }
    }

    /// Whether the shard was told to stop, and need not wait for the store any more.
    fn is_done(&self) -> bool {
        self.stopping.is_some_and(|until| self.writes() == 0 || until <= self.clock.now().host)
    }

    fn writes(&self) -> usize {
        self.writes + self.transactions.writing() + self.markers.writing()
    }

    /// Answers what is parked: groups and transactions by giving up their partitions, fetches with no records.
    fn stop(&mut self) {
        let at = self.clock.now();
        let now = at.groups;
        self.transactions.unload(now);
        for (partition, OwnerEpoch(epoch)) in self.owned.take() {
            self.coordinator.handle(now, Input::Unload(partition, OwnerEpoch(epoch.saturating_add(1))));
        }
        self.fetches.finish();
        self.carry_out(at);
    }
}

/// Tells the server, which may have gone before.
fn report(reports: &UnboundedSender<Report>, report: Report) {
    let _ = reports.send(report);
}
