//! What a topic may be called, as Kafka's `Topic.validate` has it.

/// The longest name, in bytes (which are characters: names are ASCII).
pub const MAX_NAME: usize = 249;

/// Why a name is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No characters.
    #[error("a topic's name cannot be empty")]
    Empty,
    /// `.` or `..`, which are no file names.
    #[error("a topic's name cannot be '.' or '..'")]
    Dots,
    /// Longer than [`MAX_NAME`].
    #[error("a topic's name has at most {MAX_NAME} characters, not {0}")]
    TooLong(usize),
    /// Something but ASCII letters, digits, `.`, `_` and `-`.
    #[error("a topic's name has only ASCII letters, digits, '.', '_' and '-': '{0}' is not one")]
    Illegal(char),
}

/// # Errors
/// [`NameError`], if `name` is none.
pub fn check_name(name: &str) -> Result<(), NameError> {
    match name {
        "" => return Err(NameError::Empty),
        "." | ".." => return Err(NameError::Dots),
        _ => {}
    }
    if name.len() > MAX_NAME {
        return Err(NameError::TooLong(name.chars().count()));
    }
    let illegal = |c: &char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    name.chars().find(illegal).map_or(Ok(()), |c| Err(NameError::Illegal(c)))
}

/// The name with which no other may collide: metric names have no `.`.
pub(super) fn collision_key(name: &str) -> Box<str> {
    name.replace('.', "_").into()
}
