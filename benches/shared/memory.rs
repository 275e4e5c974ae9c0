//! The allocator, which counts while it is told to: calls say what a steady state allocates, bytes what operations take.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use mimalloc::MiMalloc;

struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);
static TAKEN: AtomicU64 = AtomicU64::new(0);
static GIVEN: AtomicU64 = AtomicU64::new(0);

#[expect(unsafe_code, reason = "an allocator cannot be written without; it only counts and passes on")]
// SAFETY: every call goes to mimalloc as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTS.load(Relaxed) {
            CALLS.fetch_add(1, Relaxed);
            TAKEN.fetch_add(layout.size() as u64, Relaxed);
        }
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if COUNTS.load(Relaxed) {
            GIVEN.fetch_add(layout.size() as u64, Relaxed);
        }
        // SAFETY: `pointer` came from `alloc` above, hence from mimalloc.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` returns, how often it allocated, and how many bytes more are held than before.
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (T, u64, u64) {
    let all = || (CALLS.load(Relaxed), TAKEN.load(Relaxed), GIVEN.load(Relaxed));
    let before = all();
    COUNTS.store(true, Relaxed);
    let result = work();
    COUNTS.store(false, Relaxed);
    let after = all();
    let held = (after.1 - before.1).saturating_sub(after.2 - before.2);
    (result, after.0 - before.0, held)
}
