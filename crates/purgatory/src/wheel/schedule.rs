//! How the wheel turns: nodes filed in slots, and the walk from slot to slot as time passes.
//!
//! A node's entry lies in a slot that begins no later than the node is due. Whenever a slot begins, its entries are
//! looked at: those due now come out, the others are filed again, nearer to their deadline. Hence re-arming to later
//! writes the new deadline and nothing else; only re-arming to earlier files a new entry, and the old one, told by its
//! place and number, is dropped where it is found. Such leavings are bounded: see [`Schedule::left_behind`].

use super::TimerId;
use super::chunk::{Entry, Queue, Taken};
use super::filed::Filed;
use super::node::{AHEAD, Nodes};
use super::ring::Place;
use alloc::vec::Vec;

/// Below this many entries leavings are not worth a look.
const FEW: usize = 256;

#[derive(Debug)]
pub(super) struct Schedule<T> {
    nodes: Nodes<T>,
    filed: Filed,
    /// What the slot of this very tick held.
    due: Due,
    /// What a longer slot held that has begun, and is not filed anew yet. Nothing is due before it is.
    begun: Begun,
    /// Entries left behind since the last chunk was compacted.
    leavings: u32,
    /// Where compaction goes on.
    compacting: Place,
}

/// The entries of one tick, while they are handed out.
#[derive(Debug)]
struct Due {
    queue: Queue,
    /// Its first chunk, and how much of that is done.
    chunk: Taken,
    done: usize,
}

/// The entries of a longer slot that has begun, and which slot that was.
#[derive(Debug)]
struct Begun {
    queue: Queue,
    place: Place,
}

/// How many chunks may be gone through before the caller is to be asked again.
pub(super) type Budget = usize;

impl Due {
    const NOTHING: Self = Self { queue: Queue::EMPTY, chunk: Taken::NOTHING, done: 0 };

    fn is_empty(&self) -> bool {
        self.done == self.chunk.entries().len() && self.queue.is_empty()
    }
}

impl<T> Schedule<T> {
    pub(super) const fn new(now: u64) -> Self {
        Self {
            nodes: Nodes::new(),
            filed: Filed::new(now),
            due: Due::NOTHING,
            begun: Begun { queue: Queue::EMPTY, place: Place::NOWHERE },
            leavings: 0,
            compacting: Place::NOWHERE,
        }
    }

    #[inline]
    pub(super) fn nodes(&self) -> &Nodes<T> {
        &self.nodes
    }

    #[inline]
    pub(super) fn nodes_mut(&mut self) -> &mut Nodes<T> {
        &mut self.nodes
    }

    pub(super) fn reserve(&mut self, additional: usize) {
        self.nodes.reserve(additional);
    }

    #[inline]
    pub(super) fn arm(&mut self, deadline: u64, value: T) -> TimerId {
        let (id, node) = self.nodes.acquire(deadline, value);
        if self.filed.ensure(id.index, node) {
            self.left_behind();
        }
        id
    }

    /// Frees the node. `None` for a stale id.
    #[inline]
    pub(super) fn disarm(&mut self, id: TimerId) -> Option<T> {
        let value = self.nodes.release(id)?;
        self.left_behind();
        Some(value)
    }

    #[inline]
    pub(super) fn rearm(&mut self, id: TimerId, deadline: u64) -> bool {
        let Some(node) = self.nodes.get_mut(id) else { return false };
        node.set_deadline(deadline);
        if self.filed.ensure(id.index, node) {
            self.left_behind();
        }
        true
    }

    /// Re-arms one after the other, with some nodes asked for ahead. How many were not stale.
    #[inline]
    pub(super) fn rearm_batch(&mut self, timers: impl Iterator<Item = (TimerId, u64)> + Clone) -> usize {
        let mut ahead = timers.clone();
        for (id, _) in ahead.by_ref().take(AHEAD) {
            self.nodes.prefetch_one(id);
        }
        let mut rearmed = 0;
        for (id, deadline) in timers {
            if let Some((id, _)) = ahead.next() {
                self.nodes.prefetch_one(id);
            }
            rearmed += usize::from(self.rearm(id, deadline));
        }
        rearmed
    }

    /// Takes out the next node due at `now`, and frees it. Moves the clock to `now` once there is none.
    #[inline]
    pub(super) fn expire_next(&mut self, now: u64) -> Option<(TimerId, u64, T)> {
        let mut unlimited = Budget::MAX;
        self.expire_next_within(now, &mut unlimited)
    }

    /// The same, but gives `None` too when the budget is used up. What remains to be done is due by
    /// [`Schedule::next_deadline`] then.
    #[inline]
    pub(super) fn expire_next_within(&mut self, now: u64, budget: &mut Budget) -> Option<(TimerId, u64, T)> {
        if now < self.filed.next_event {
            self.filed.now = self.filed.now.max(now);
            return None;
        }
        loop {
            if let Some((id, deadline)) = self.next_due(budget) {
                let value = self.nodes.release_at(id.index)?;
                return Some((id, deadline, value));
            }
            if !self.advance(now, budget) {
                return None;
            }
        }
    }

    /// Adds the nodes of the first tick due at `now` to `due`, without freeing them: from now on they are filed
    /// nowhere, and come out again only if re-armed. Moves the clock to `now` if there is none, else to that tick.
    #[inline]
    pub(super) fn collect_due(&mut self, now: u64, due: &mut Vec<TimerId>) {
        if now < self.filed.next_event {
            self.filed.now = self.filed.now.max(now);
            return;
        }
        let before = due.len();
        let mut unlimited = Budget::MAX;
        loop {
            while let Some((id, _)) = self.next_due(&mut unlimited) {
                due.push(id);
            }
            if due.len() > before || !self.advance(now, &mut unlimited) {
                return;
            }
        }
    }

    /// A lower bound of all deadlines; `None` if nothing will come due.
    pub(super) fn next_deadline(&self) -> Option<u64> {
        if self.nodes.live() == 0 {
            return None;
        }
        if !self.due.is_empty() || !self.begun.queue.is_empty() {
            return Some(self.filed.now);
        }
        self.filed.rings.earliest(self.filed.now)
    }

    #[inline]
    pub(super) fn now(&self) -> u64 {
        self.filed.now
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes() + self.filed.bytes()
    }

    /// Goes to the next tick at or before `now` whose slot holds anything, filing longer slots anew on the way. `false`
    /// if there is none, or the budget is used up.
    fn advance(&mut self, now: u64, budget: &mut Budget) -> bool {
        let now = now.max(self.filed.now);
        while self.file_anew(budget) {
            let filed = &mut self.filed;
            let (start, place) = filed.rings.first(filed.now).unwrap_or((u64::MAX, Place::NOWHERE));
            if start > now || place == Place::NOWHERE {
                filed.next_event = start;
                filed.now = now;
                return false;
            }
            filed.now = start;
            filed.next_event = 0;
            let queue = filed.rings.vacate(place);
            if place.is_one_tick() {
                self.due.queue = queue;
                self.nodes.prefetch_with_values(filed.chunks.peek(queue));
                return self.begin_due_chunk(budget);
            }
            self.nodes.prefetch(filed.chunks.peek(queue));
            self.begun = Begun { queue, place };
        }
        false
    }

    /// Moves what a long slot held to shorter ones, now that it has begun. `false` if the budget is used up: timers may
    /// come, go and be re-armed before it is continued, since those in hand still count as filed where they were.
    fn file_anew(&mut self, budget: &mut Budget) -> bool {
        let Self { nodes, filed, begun, .. } = self;
        while *budget > 0 {
            let Some(chunk) = filed.chunks.pop(&mut begun.queue) else { return true };
            *budget -= 1;
            nodes.prefetch(filed.chunks.peek(begun.queue));
            filed.entries -= chunk.entries().len();
            for &entry in chunk.entries() {
                file_entry_anew(nodes, filed, entry, begun.place);
            }
        }
        false
    }

    /// The next node due at this very tick, no longer filed.
    #[inline]
    fn next_due(&mut self, budget: &mut Budget) -> Option<(TimerId, u64)> {
        let now = self.filed.now;
        let place = Place::of(now, now);
        loop {
            let Some(&entry) = self.due.chunk.entries().get(self.due.done) else {
                if self.begin_due_chunk(budget) {
                    continue;
                }
                return None;
            };
            self.due.done += 1;
            self.filed.entries -= 1;
            let index = entry.index();
            let node = self.nodes.at_mut(index);
            if !node.is_filed_as(place, entry) {
                continue;
            }
            let deadline = node.deadline();
            if node.is_live() && deadline <= now && deadline < u64::MAX {
                node.unfile();
                return Some((node.id(index), deadline));
            }
            if node.is_live() && deadline < u64::MAX {
                self.filed.append(index, node, deadline);
            } else {
                node.unfile();
            }
        }
    }

    /// Takes the next chunk of what is due in hand, and asks for all that the one after it needs.
    fn begin_due_chunk(&mut self, budget: &mut Budget) -> bool {
        if *budget == 0 {
            return false;
        }
        self.due.done = 0;
        let Some(chunk) = self.filed.chunks.pop(&mut self.due.queue) else {
            self.due.chunk = Taken::NOTHING;
            return false;
        };
        *budget -= 1;
        self.due.chunk = chunk;
        self.nodes.prefetch_with_values(self.filed.chunks.peek(self.due.queue));
        true
    }

    /// An entry may have been left behind. Every fourth time, if there are more than two entries a timer, one chunk is
    /// cleared of such: the work is spread, the memory bounded, and nothing ever sweeps the whole wheel.
    #[inline]
    fn left_behind(&mut self) {
        if self.filed.entries > 2 * self.nodes.live() + FEW {
            self.leavings += 1;
            if self.leavings >= 4 {
                self.leavings = 0;
                self.compact_one_chunk();
            }
        }
    }

    #[cold]
    fn compact_one_chunk(&mut self) {
        let Some(place) = self.next_to_compact() else { return };
        let filed = &mut self.filed;
        let Some(slot) = filed.rings.get_mut(place) else { return };
        let Some(chunk) = filed.chunks.pop(&mut slot.queue) else { return };
        for &entry in chunk.entries() {
            let node = self.nodes.at_mut(entry.index());
            if node.is_filed_as(place, entry) && node.is_live() {
                filed.chunks.append(&mut slot.queue, entry);
            } else {
                filed.entries -= 1;
                if node.is_filed_as(place, entry) {
                    node.unfile();
                }
            }
        }
        if slot.queue.is_empty() {
            filed.rings.vacate(place);
        }
    }

    /// A slot with a chunk that this round has not seen; the next round begins where this one ends.
    fn next_to_compact(&mut self) -> Option<Place> {
        let Filed { rings, chunks, .. } = &mut self.filed;
        loop {
            let Some(place) = rings.next_occupied(self.compacting) else {
                let begins_anew = self.compacting != Place::FIRST;
                self.compacting = Place::FIRST;
                chunks.begin_round();
                if begins_anew {
                    continue;
                }
                return None;
            };
            self.compacting = place;
            if rings.get_mut(place).is_some_and(|slot| chunks.is_old(slot.queue)) {
                return Some(place);
            }
            self.compacting = place.after();
        }
    }
}

#[inline]
fn file_entry_anew<T>(nodes: &mut Nodes<T>, filed: &mut Filed, entry: Entry, place: Place) {
    let node = nodes.at_mut(entry.index());
    if !node.is_filed_as(place, entry) {
        return;
    }
    let deadline = node.deadline();
    if !node.is_live() || deadline == u64::MAX {
        node.unfile();
        return;
    }
    filed.append(entry.index(), node, deadline.max(filed.now));
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// What waits, with its deadline and the tick that this counted as when it was given.
    type Model = BTreeMap<TimerId, (u64, u64)>;

    #[test]
    fn timers_come_go_and_are_re_armed_while_a_slot_is_filed_anew() {
        for (seed, start) in (0..).zip([0, 65_300, (1 << 32) - 77, u64::MAX - (1 << 26)]) {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let (mut schedule, mut model) = (Schedule::new(start), Model::new());
            let mut now = start;
            for _ in 0..60 {
                for _ in 0..500 {
                    change(&mut schedule, &mut model, &mut rng);
                }
                now = now.saturating_add(rng.random_range(0..80_000));
                expire_step_by_step(&mut schedule, &mut model, &mut rng, now);
            }
        }
    }

    /// One chunk at a time, and now and then something happens in between.
    fn expire_step_by_step(schedule: &mut Schedule<u64>, model: &mut Model, rng: &mut ChaCha8Rng, now: u64) {
        let mut changes = 50;
        loop {
            let earliest = model.values().map(|&(_, due)| due).min();
            let due = earliest.filter(|&due| due <= now);
            assert!(earliest.is_none_or(|due| schedule.next_deadline().is_some_and(|next| next <= due)));
            match schedule.expire_next_within(now, &mut 1) {
                Some((id, deadline, value)) => {
                    assert_eq!(model.remove(&id), Some((deadline, due.expect("something is due"))));
                    assert_eq!(deadline, value);
                }
                None if due.is_none() && schedule.now() == now => return,
                None => {}
            }
            if changes > 0 && rng.random_bool(0.3) {
                changes -= 1;
                change(schedule, model, rng);
            }
        }
    }

    fn change(schedule: &mut Schedule<u64>, model: &mut Model, rng: &mut ChaCha8Rng) {
        let now = schedule.now();
        let distance = 1 << rng.random_range(0..20);
        // Many fall together.
        let deadline = (now.saturating_add(rng.random_range(0..distance)) | 1_023).min(u64::MAX - 1);
        let any = model.keys().nth(rng.random_range(0..model.len().max(1))).copied();
        match (rng.random_range(0..4), any) {
            (0, Some(id)) => assert!(schedule.disarm(id).is_some() && model.remove(&id).is_some()),
            (1, Some(id)) => {
                assert!(schedule.rearm(id, deadline));
                *schedule.nodes_mut().value_mut(id).expect("it waits") = deadline;
                model.insert(id, (deadline, deadline.max(now)));
            }
            _ => _ = model.insert(schedule.arm(deadline, deadline), (deadline, deadline.max(now))),
        }
    }
}
