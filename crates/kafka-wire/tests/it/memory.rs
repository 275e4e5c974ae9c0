//! Counts what a thread allocates, to hold the decoder to its bound.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use kafka_wire::{MEMORY_ALLOWANCE, MEMORY_PER_BYTE};

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

#[global_allocator]
static COUNTING: Counting = Counting;

struct Counting;

/// Re-allocation is not forwarded, so the old and the new place count at once, as in the worst case.
#[expect(unsafe_code, reason = "only an allocator sees every allocation")]
// SAFETY: every call goes to `System` as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size().cast_signed());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        add(-layout.size().cast_signed());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

fn add(bytes: isize) {
    LIVE.set(LIVE.get() + bytes);
    PEAK.set(PEAK.get().max(LIVE.get()));
}

/// The most bytes that were allocated at once during a call, on top of what was there before.
pub(crate) fn peak_of<R>(call: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = call();
    (result, usize::try_from(PEAK.get() - before).unwrap())
}

/// What decoding a body of this length may allocate.
pub(crate) fn bound(length: usize) -> usize {
    length * MEMORY_PER_BYTE + MEMORY_ALLOWANCE
}

#[test]
fn allocations_are_seen() {
    assert_eq!(peak_of(|| Vec::<u8>::with_capacity(1000)).1, 1000);
    assert_eq!(peak_of(|| Vec::<u8>::with_capacity(1000).reserve_exact(1010)).1, 2010);
    assert_eq!(peak_of(|| ()).1, 0);
}
