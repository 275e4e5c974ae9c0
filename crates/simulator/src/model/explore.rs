//! Breadth first through all states, so that what fails is shown by the fewest steps.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use hashbrown::HashSet;

use super::canonical::canonical;
use super::world::World;
use super::{Bounds, Plant, Step, calm};

/// What was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Explored {
    /// Different states.
    pub states: usize,
    /// Steps taken from them.
    pub transitions: usize,
    /// The most steps from the start.
    pub depth: usize,
    /// States that were reached and not gone on from, for the bounds on states and depth. 0: all there is was seen.
    pub unexplored: usize,
    /// The longest that a group took to come to rest without faults, ms.
    pub longest_rest_ms: u64,
}

/// The shortest way to something that must not be.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// From the start.
    pub steps: Vec<Step>,
    /// What does not hold.
    pub why: String,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (step, number) in self.steps.iter().zip(1..) {
            writeln!(f, "{number:3}. {step}")?;
        }
        write!(f, "{}", self.why)
    }
}

/// Explores within `bounds`.
///
/// # Errors
///
/// What must not be, and how it came.
///
/// ```
/// use simulator::model::{Bounds, Plant, explore};
///
/// let bounds = Bounds { clients: 1, generations: 1, crashes: 0, ..Bounds::default() };
/// let explored = explore(bounds, Plant::Nothing).map_err(|why| why.to_string())?;
/// assert_eq!(explored.unexplored, 0);
/// # Ok::<_, String>(())
/// ```
pub fn explore(bounds: Bounds, plant: Plant) -> Result<Explored, Counterexample> {
    let mut explored = Explored { states: 1, ..Explored::default() };
    let mut seen = HashSet::new();
    seen.insert(hash(&canonical(&World::new(bounds, plant))));
    let mut frontier = VecDeque::from([Vec::new()]);
    while let Some(path) = frontier.pop_front() {
        if path.len() == bounds.depth || explored.states >= bounds.states {
            explored.unexplored += 1;
            continue;
        }
        for step in replay(bounds, plant, &path).steps() {
            let mut world = replay(bounds, plant, &path);
            let failed = |why| Counterexample { steps: [path.as_slice(), &[step]].concat(), why };
            world.take(step).map_err(failed)?;
            explored.transitions += 1;
            if !seen.insert(hash(&canonical(&world))) {
                continue;
            }
            explored.states += 1;
            explored.depth = explored.depth.max(path.len() + 1);
            let took = calm::come_to_rest(&mut world).map_err(failed)?;
            explored.longest_rest_ms = explored.longest_rest_ms.max(took);
            frontier.push_back([path.as_slice(), &[step]].concat());
        }
    }
    Ok(explored)
}

/// The state after these steps, which were all taken before.
fn replay(bounds: Bounds, plant: Plant, path: &[Step]) -> World {
    let mut world = World::new(bounds, plant);
    for step in path {
        let again = world.take(*step);
        again.unwrap_or_else(|why| unreachable!("the same steps lead to the same state, not to: {why}"));
    }
    world
}

/// 128 bits: that two of a million states have the same is as likely as 10^-27.
fn hash(text: &str) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, text).hash(&mut hasher);
        u128::from(hasher.finish())
    };
    half(1) << 64 | half(2)
}
