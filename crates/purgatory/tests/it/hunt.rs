//! How far a model test goes, and what it says when it fails.
//!
//! `PURGATORY_SEEDS=1000-2000` makes every model test run these seeds instead of its own few: a hunt of any length.

use std::ops::Range;

/// The seeds to run: as many as are asked for, or those of `PURGATORY_SEEDS`.
pub(crate) fn seeds(ordinarily: u64) -> Range<u64> {
    let Ok(asked) = std::env::var("PURGATORY_SEEDS") else { return 0..ordinarily };
    let bounds = asked.split_once('-').and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    bounds.unwrap_or_else(|| panic!("PURGATORY_SEEDS is like 1000-2000, not {asked}"))
}

/// Says which run it was if a panic ends it.
pub(crate) struct Run {
    pub(crate) test: &'static str,
    pub(crate) seed: u64,
    pub(crate) start: u64,
}

impl Drop for Run {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (test, start) = (self.test, self.start);
            let (seed, next) = (self.seed, self.seed + 1);
            eprintln!(
                "{test} failed with seed {seed} from tick {start}: PURGATORY_SEEDS={seed}-{next} repeats it"
            );
        }
    }
}
