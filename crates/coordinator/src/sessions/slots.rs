//! Sessions where they are found without a search: each at the index of its timer.
//!
//! In segments, so that no turn moves more than one. A segment whose last session goes is given back.

use super::Session;

/// Sessions in a segment: 32 KiB of them.
const SEGMENT: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Slots {
    segments: Vec<Segment>,
}

#[derive(Debug, Default)]
struct Segment {
    /// None while no session is here.
    slots: Box<[Option<Session>]>,
    taken: usize,
}

impl Slots {
    pub(super) fn get(&self, index: u32) -> Option<&Session> {
        let (segment, slot) = split(index);
        self.segments.get(segment)?.slots.get(slot)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Session> {
        let (segment, slot) = split(index);
        self.segments.get_mut(segment)?.slots.get_mut(slot)?.as_mut()
    }

    /// Puts a session into a slot that is free.
    pub(super) fn put(&mut self, index: u32, session: Session) {
        let (segment, slot) = split(index);
        if segment >= self.segments.len() {
            self.segments.resize_with(segment + 1, Segment::default);
        }
        let segment = &mut self.segments[segment];
        if segment.slots.is_empty() {
            segment.slots = std::iter::repeat_with(|| None).take(SEGMENT).collect();
        }
        let before = segment.slots[slot].replace(session);
        assert!(before.is_none(), "invariant: timers have indices of their own");
        segment.taken += 1;
    }

    /// Takes a session out.
    pub(super) fn take(&mut self, index: u32) -> Option<Session> {
        let (segment, slot) = split(index);
        let segment = self.segments.get_mut(segment)?;
        let session = segment.slots.get_mut(slot)?.take()?;
        segment.taken -= 1;
        if segment.taken == 0 {
            *segment = Segment::default();
            let used = self.segments.iter().rposition(|segment| segment.taken > 0);
            self.segments.truncate(used.map_or(0, |last| last + 1));
        }
        Some(session)
    }

    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.segments.iter().map(|segment| segment.taken).sum()
    }
}

fn split(index: u32) -> (usize, usize) {
    (index as usize / SEGMENT, index as usize % SEGMENT)
}
