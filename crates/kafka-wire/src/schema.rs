//! What the tables say about each message, as data: for tools, and for tests that trust no encoder.

/// A structure: a message, or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Kafka's name of it.
    pub name: &'static str,
    /// Its fields, in the order they are written. Tagged ones come behind all others, in the order of their
    /// tags.
    pub fields: &'static [FieldSchema],
}

/// One field of a structure.
#[derive(Debug, Clone, Copy)]
pub struct FieldSchema {
    /// Kafka's name of it, in snake case.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Whether a version has it.
    pub present: fn(i16) -> bool,
    /// Whether it may be null in a version.
    pub nullable: fn(i16) -> bool,
    /// Its tag, if it is a tagged field: written only if it differs from its default.
    pub tag: Option<u32>,
    /// Whether a value is silently lost in versions without the field, rather than refused.
    pub ignorable: bool,
}

/// The type of a field.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// One byte; any but 0 is true.
    Bool,
    /// Eight bits.
    Int8,
    /// 16 bits, big-endian.
    Int16,
    /// 32 bits, big-endian.
    Int32,
    /// 64 bits, big-endian.
    Int64,
    /// 16 bytes.
    Uuid,
    /// UTF-8 behind its length.
    String,
    /// Bytes behind their length. Record batches look the same on the wire.
    Bytes,
    /// Elements behind their count.
    Array(&'static Kind),
    /// A structure in place.
    Struct(&'static Schema),
    /// A structure behind a byte that says whether it is there.
    Nullable(&'static Kind),
}
