//! Where a deadline is filed: levels of slots, each slot of a level 256 times as long as one of the level below.
//!
//! A deadline goes to the level that its *distance* from now asks for: level 0 below 256 ticks (a slot is one tick),
//! level 1 below 65,536, and so on; eight levels reach the end of time. The slots of a level form a ring of 512, twice
//! what a level can hold, so that a slot is never shared by two laps and no boundary needs a special case.
//! Per level a bitmap tells which slots hold anything. Levels exist from their first use on.

use super::chunk::Queue;
use alloc::vec::Vec;

/// log2 of how many slots of a level make one of the next.
const BITS: u32 = 8;
/// log2 of the slots in a ring.
const RING_BITS: u32 = BITS + 1;
const RING: usize = 1 << RING_BITS;
const WORDS: usize = RING / 64;

/// A level and a slot of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u32);

impl Place {
    /// What is in no slot.
    pub(super) const NOWHERE: Self = Self(8 << RING_BITS);
    /// The first slot of level 0.
    pub(super) const FIRST: Self = Self(0);

    /// Where `due`, not before `now`, is filed.
    #[inline]
    pub(super) fn of(due: u64, now: u64) -> Self {
        let level = ((due - now) | 1).ilog2() / BITS;
        let slot = (due >> (level * BITS)) & (RING as u64 - 1);
        #[expect(clippy::cast_possible_truncation, reason = "masked to a ring above")]
        Self(level << RING_BITS | slot as u32)
    }

    /// The first tick of a slot of this level, the one that holds `tick`.
    #[inline]
    pub(super) fn floor(self, tick: u64) -> u64 {
        tick & u64::MAX << (self.level() * BITS)
    }

    /// The first tick of the slot, if it is one that lies ahead of `now` or holds it.
    #[inline]
    fn start(self, now: u64) -> u64 {
        let shift = self.level() * BITS;
        let current = now >> shift;
        let ahead = u64::from(self.0).wrapping_sub(current) & (RING as u64 - 1);
        (current + ahead) << shift
    }

    /// The next slot, of this level or else the next one.
    pub(super) fn after(self) -> Self {
        Self(self.0 + 1)
    }

    #[inline]
    pub(super) const fn bits(self) -> u32 {
        self.0
    }

    #[inline]
    pub(super) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    #[inline]
    pub(super) fn is_one_tick(self) -> bool {
        self.level() == 0
    }

    #[inline]
    fn level(self) -> u32 {
        self.0 >> RING_BITS
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) queue: Queue,
    /// No live timer filed here is due before this, which is a tick of the slot. An empty slot keeps what it had: what
    /// came out of it, and is not handed out yet, counts as filed here.
    pub(super) earliest: u64,
}

impl Slot {
    const EMPTY: Self = Self { queue: Queue::EMPTY, earliest: 0 };
}

/// All levels, lowest first.
#[derive(Debug)]
pub(super) struct Rings {
    slots: Vec<Slot>,
    occupied: Vec<Bitmap>,
}

impl Rings {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), occupied: Vec::new() }
    }

    /// Marks the empty slot at `place` as holding something, due at `earliest`, for the caller to put there.
    pub(super) fn occupy(&mut self, place: Place, earliest: u64) -> &mut Slot {
        let at = place.0 as usize;
        if at >= self.slots.len() {
            self.grow(place.level() as usize + 1);
        }
        self.occupied[at / RING].set(at % RING);
        let slot = &mut self.slots[at];
        slot.earliest = earliest;
        slot
    }

    /// The slot at `place`, unless that is nowhere or of a level not used yet.
    #[inline]
    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut Slot> {
        self.slots.get_mut(place.0 as usize)
    }

    /// Empties the slot and marks it empty.
    pub(super) fn vacate(&mut self, place: Place) -> Queue {
        let at = place.0 as usize;
        self.occupied[at / RING].clear(at % RING);
        core::mem::replace(&mut self.slots[at].queue, Queue::EMPTY)
    }

    /// The slot that begins first; of those that begin together the longest.
    #[inline]
    pub(super) fn first(&self, now: u64) -> Option<(u64, Place)> {
        // Longer slots begin only where one of level 1 does: not in the middle of it, nor before it ends.
        if !now.is_multiple_of(1 << BITS)
            && let Some(bitmap) = self.occupied.first()
            && let Some(place) = Self::first_of(bitmap, 0, now)
            && let start = place.start(now)
            && start >> BITS == now >> BITS
        {
            return Some((start, place));
        }
        self.first_of_all(now)
    }

    fn first_of_all(&self, now: u64) -> Option<(u64, Place)> {
        let mut first = None;
        for (level, bitmap) in self.occupied.iter().enumerate().rev() {
            if let Some(place) = Self::first_of(bitmap, level, now) {
                let start = place.start(now);
                if first.is_none_or(|(earliest, _)| start < earliest) {
                    first = Some((start, place));
                }
            }
        }
        first
    }

    /// A lower bound of what all slots hold, exact unless timers were removed or re-armed.
    pub(super) fn earliest(&self, now: u64) -> Option<u64> {
        let levels = self.occupied.iter().enumerate();
        let firsts = levels.filter_map(|(level, bitmap)| Self::first_of(bitmap, level, now));
        firsts.map(|place| self.slots[place.0 as usize].earliest).min()
    }

    /// The first occupied place at or after `place`, in no order that means anything.
    pub(super) fn next_occupied(&self, place: Place) -> Option<Place> {
        let (level, from) = (place.level() as usize, place.0 as usize % RING);
        let here = self.occupied.get(level)?.first_from(from).filter(|&slot| slot >= from);
        let above = || {
            let mut above = self.occupied.iter().enumerate().skip(level + 1);
            above.find_map(|(level, bitmap)| Some((level, bitmap.first_from(0)?)))
        };
        let (level, slot) = here.map(|slot| (level, slot)).or_else(above)?;
        Some(Self::place(level, slot))
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.occupied.capacity() * size_of::<Bitmap>()
    }

    #[inline]
    fn first_of(bitmap: &Bitmap, level: usize, now: u64) -> Option<Place> {
        #[expect(clippy::cast_possible_truncation, reason = "masked to a ring")]
        let current = ((now >> (level * BITS as usize)) & (RING as u64 - 1)) as usize;
        Some(Self::place(level, bitmap.first_from(current)?))
    }

    #[inline]
    fn place(level: usize, slot: usize) -> Place {
        #[expect(clippy::cast_possible_truncation, reason = "eight levels of 512 slots")]
        Place((level << RING_BITS | slot) as u32)
    }

    #[cold]
    fn grow(&mut self, levels: usize) {
        self.slots.resize(levels * RING, Slot::EMPTY);
        self.occupied.resize(levels, Bitmap::default());
    }
}

/// One bit a slot, and one bit a word of these.
#[derive(Clone, Copy, Debug, Default)]
struct Bitmap {
    words: [u64; WORDS],
    summary: u8,
}

impl Bitmap {
    #[inline]
    fn set(&mut self, bit: usize) {
        self.words[bit / 64] |= 1 << (bit % 64);
        self.summary |= 1 << (bit / 64);
    }

    fn clear(&mut self, bit: usize) {
        self.words[bit / 64] &= !(1 << (bit % 64));
        if self.words[bit / 64] == 0 {
            self.summary &= !(1 << (bit / 64));
        }
    }

    /// The first set bit at or after `from`, going round.
    #[inline]
    fn first_from(&self, from: usize) -> Option<usize> {
        let ahead = self.words[from / 64] >> (from % 64);
        if ahead != 0 {
            return Some(from + ahead.trailing_zeros() as usize);
        }
        if self.summary == 0 {
            return None;
        }
        // The words after this one, in order, and at last this one again: its bits before `from`.
        let next = (from / 64 + 1) % WORDS;
        let words = u16::from(self.summary) * 0x101;
        let ahead = words >> next;
        let word = (next + ahead.trailing_zeros() as usize) % WORDS;
        Some(word * 64 + self.words[word].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_starts_at_or_before_what_is_filed_there_and_after_now_unless_it_is_now() {
        let nows = [0, 1, 255, 256, 65_535, 65_536, (1 << 32) - 1, 1 << 40, u64::MAX - 300, u64::MAX];
        let distances = [0, 1, 255, 256, 257, 511, 512, 65_535, 65_536, 1 << 24, 1 << 40, u64::MAX];
        for now in nows {
            for distance in distances {
                let Some(due) = now.checked_add(distance) else { continue };
                let place = Place::of(due, now);
                let start = place.start(now);
                assert!(start <= due, "{now} + {distance}: {start}");
                assert!(start > now || distance == 0 && start == now, "{now} + {distance}: {start}");
                assert!(distance >= 256 || start == due);
            }
        }
    }

    #[test]
    fn a_bitmap_is_searched_all_round() {
        for bit in 0..RING {
            let mut bitmap = Bitmap::default();
            for from in [0, 1, 63, 64, 255, 511] {
                assert_eq!(bitmap.first_from(from), None);
            }
            bitmap.set(bit);
            for from in 0..RING {
                assert_eq!(bitmap.first_from(from), Some(bit), "from {from}");
            }
            let other = (bit + 300) % RING;
            bitmap.set(other);
            assert_eq!(bitmap.first_from((bit + 1) % RING), Some(other));
            assert_eq!(bitmap.first_from((other + 1) % RING), Some(bit));
            bitmap.clear(bit);
            assert_eq!(bitmap.first_from(bit), Some(other));
            bitmap.clear(other);
            assert_eq!(bitmap.summary, 0);
        }
    }
}
