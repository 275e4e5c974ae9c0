//! What the model makes of what happened.

use std::task::{Context, Poll, Waker};

use purgatory::{Cause, Exits};

use super::operations::{Added, Event, KEYS, MapName, Mood};
use super::{Allowed, Check, Waiting, t};

impl Check {
    pub(super) fn assert_gone(&self, names: &[u64]) {
        let here = self.model.iter().find(|waiting| names.contains(&waiting.name));
        assert!(here.is_none(), "{:?} still waits", here.map(|waiting| waiting.name));
    }

    /// Takes what left, and lets the model judge.
    pub(super) fn settle(&mut self, allowed: Allowed) {
        while let Some(exit) = self.exits.as_mut().and_then(Exits::try_next) {
            self.world.left(&exit);
        }
        let events = std::mem::take(&mut *self.world.log.lock().expect("nobody panics with it"));
        for event in events {
            self.apply(event, allowed);
        }
        let mut context = Context::from_waker(Waker::noop());
        let mut over = Vec::new();
        self.waits.retain_mut(|(name, wait)| match wait.as_mut().poll(&mut context) {
            Poll::Ready(cause) => {
                over.push(Event::Left { name: *name, cause, expired_at: None });
                false
            }
            Poll::Pending => true,
        });
        for event in over {
            self.apply(event, allowed);
        }
    }

    pub(super) fn apply(&mut self, event: Event, allowed: Allowed) {
        let (name, cause, expired_at) = match event {
            Event::Added(Added { name, keys, deadline, mood, id }) => {
                let keys = keys.into_iter().collect();
                let waiting = Waiting {
                    name,
                    keys,
                    thresholds: Vec::new(),
                    deadline,
                    mood,
                    id: Some(id),
                    noted: false,
                };
                self.model.push(waiting);
                self.stats.submitted += 1;
                return;
            }
            Event::Noted(name) => {
                let noted = self.model.iter_mut().find(|waiting| waiting.name == name);
                noted.unwrap_or_else(|| panic!("{name} was not in hand")).noted = true;
                return;
            }
            Event::Taken(name) => (name, None, None),
            Event::Left { name, cause, expired_at } => (name, Some(cause), expired_at),
        };
        let at = self.model.iter().position(|waiting| waiting.name == name);
        let gone = self.model.remove(at.unwrap_or_else(|| panic!("{name} left twice, or never came")));
        self.last_gone = gone.id.or(self.last_gone);
        self.left += 1;
        let mood = gone.mood.get();
        let may = match cause {
            None => true,
            cause if cause == allowed.cause => true,
            Some(Cause::Satisfied) => mood == Mood::Ready || allowed.forced,
            Some(Cause::Panicked) => mood == Mood::Panics,
            Some(Cause::Cancelled) => mood == Mood::CancelsItself || gone.noted,
            Some(Cause::Shutdown) => false,
            Some(Cause::Expired) => {
                gone.deadline <= self.latest && expired_at.is_none_or(|expired| expired == t(gone.deadline))
            }
        };
        assert!(may, "{name} left by {cause:?}, {mood:?}, deadline {} at {}", gone.deadline, self.now);
        match cause {
            Some(Cause::Satisfied) => self.stats.satisfied += 1,
            Some(Cause::Expired) => self.stats.expired += 1,
            None | Some(Cause::Cancelled) => self.stats.cancelled += 1,
            Some(Cause::Shutdown) => self.stats.shut_down += 1,
            Some(Cause::Panicked) => self.stats.panicked += 1,
        }
    }

    pub(super) fn compare(&mut self) {
        let (purgatory, model) = (self.purgatory(), &self.model);
        assert_eq!(purgatory.pending(), model.len());
        let watched =
            model.iter().map(|waiting| waiting.keys.len() + waiting.thresholds.len()).sum::<usize>();
        assert_eq!(purgatory.watched(), watched);
        for key in 0..KEYS {
            let plain = model.iter().filter(|waiting| waiting.keys.contains(&key)).count();
            let marks = model.iter().flat_map(|waiting| &waiting.thresholds).filter(|&&(k, _)| k == key);
            assert_eq!(purgatory.lowest_threshold(&key), marks.clone().map(|&(_, minimum)| minimum).min());
            assert_eq!(purgatory.watched_by(&key), plain + marks.count());
        }
        let earliest =
            model.iter().map(|waiting| waiting.deadline).filter(|&deadline| deadline < u64::MAX).min();
        let next = purgatory.next_deadline();
        let latest_bound = earliest.map(|earliest| t(earliest.max(self.latest)));
        assert!(latest_bound.is_none_or(|bound| next.is_some_and(|next| next <= bound)));
        let mut stats = purgatory.stats();
        stats.worst_lateness = 0;
        assert_eq!(stats, self.stats);
        if let Some(id) = self.last_gone {
            assert!(!purgatory.extend(id, t(0)) && !purgatory.force_complete(id));
            assert_eq!(purgatory.cancel(id).map_name(), Err(false));
        }
        // Some of those are gone.
        let mut ids = self.world.ids.lock().expect("nobody panics with it");
        if ids.len() > 2 * self.model.len() + 10 {
            let half = ids.len() / 2;
            ids.drain(..half);
        }
    }
}
