//! Writes bodies from the tables alone, so that they owe nothing to the encoder under test, and remembers
//! where each length and count stands.

use kafka_wire::schema::{FieldSchema, Kind, Schema};

use crate::catalogue::Entry;

/// What values a sample has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Every field set, every array with two elements, every tagged field there.
    Filled,
    /// Zero and empty everywhere.
    Empty,
    /// Null wherever a version allows it, and one element in each array.
    Null,
    /// Anything, from the seed.
    Random,
}

/// A body, and where its lengths are.
pub(crate) struct Sample {
    pub(crate) bytes: Vec<u8>,
    pub(crate) lengths: Vec<Length>,
}

/// A length or count inside a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Length {
    pub(crate) offset: usize,
    pub(crate) size: usize,
    pub(crate) of: Of,
    pub(crate) compact: bool,
}

/// What a length is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    String,
    Bytes,
    Array,
}

/// Numbers from a seed (`SplitMix64`).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }
}

/// A body of this message and version.
pub(crate) fn sample(entry: &Entry, version: i16, style: Style, seed: u64) -> Sample {
    let flexible = entry.is_flexible(version);
    let sample = Sample { bytes: Vec::new(), lengths: Vec::new() };
    let mut writer = Writer { sample, numbers: Numbers(seed), version, flexible, style };
    writer.structure(&entry.schema);
    writer.sample
}

struct Writer {
    sample: Sample,
    numbers: Numbers,
    version: i16,
    flexible: bool,
    style: Style,
}

impl Writer {
    fn structure(&mut self, schema: &Schema) {
        let present = schema.fields.iter().filter(|field| (field.present)(self.version)).collect::<Vec<_>>();
        for field in present.iter().filter(|field| field.tag.is_none()) {
            self.value(field.kind, (field.nullable)(self.version));
        }
        if self.flexible {
            let mut tagged = present;
            tagged.retain(|field| field.tag.is_some() && self.wants_tag());
            tagged.sort_by_key(|field| field.tag);
            self.tagged(&tagged);
        }
    }

    fn wants_tag(&mut self) -> bool {
        match self.style {
            Style::Filled => true,
            Style::Empty | Style::Null => false,
            Style::Random => self.numbers.next().is_multiple_of(2),
        }
    }

    /// Tagged fields have values that differ from any default, or they would not be there.
    fn tagged(&mut self, fields: &[&FieldSchema]) {
        self.uvarint(fields.len());
        let style = std::mem::replace(&mut self.style, Style::Filled);
        for field in fields {
            self.uvarint(field.tag.unwrap() as usize);
            // The size stands in front of the value: write the value once to learn it, and again in its
            // place.
            let (start, lengths, numbers) =
                (self.sample.bytes.len(), self.sample.lengths.len(), self.numbers.0);
            self.value(field.kind, (field.nullable)(self.version));
            let size = self.sample.bytes.len() - start;
            self.sample.bytes.truncate(start);
            self.sample.lengths.truncate(lengths);
            self.numbers.0 = numbers;
            self.uvarint(size);
            self.value(field.kind, (field.nullable)(self.version));
        }
        self.style = style;
    }

    fn value(&mut self, kind: Kind, nullable: bool) {
        let is_null = nullable
            && match self.style {
                Style::Filled | Style::Empty => false,
                Style::Null => true,
                Style::Random => self.numbers.next().is_multiple_of(3),
            };
        match kind {
            Kind::Bool => {
                let value = self.number() & 1;
                self.sample.bytes.push(u8::try_from(value).unwrap());
            }
            Kind::Int8 => self.integer(1),
            Kind::Int16 => self.integer(2),
            Kind::Int32 => self.integer(4),
            Kind::Int64 => self.integer(8),
            Kind::Uuid => {
                self.integer(8);
                self.integer(8);
            }
            Kind::String => {
                let text = self.text();
                self.length(Of::String, (!is_null).then_some(text.len()));
                self.sample.bytes.extend(text.bytes().filter(|_| !is_null));
            }
            Kind::Bytes => {
                let text = self.text();
                self.length(Of::Bytes, (!is_null).then_some(text.len()));
                self.sample.bytes.extend(text.bytes().filter(|_| !is_null).map(|byte| byte ^ 0x80));
            }
            Kind::Array(_) if is_null => self.length(Of::Array, None),
            Kind::Array(element) => {
                let count = self.count();
                self.length(Of::Array, Some(count));
                (0..count).for_each(|_| self.value(*element, false));
            }
            Kind::Struct(schema) => self.structure(schema),
            Kind::Nullable(_) if is_null => self.sample.bytes.push(0xff),
            Kind::Nullable(inner) => {
                self.sample.bytes.push(1);
                self.value(*inner, false);
            }
        }
    }

    /// A number whose lowest bit is set if the sample is filled, so that it is a true `bool` too.
    fn number(&mut self) -> u64 {
        match self.style {
            Style::Filled => self.numbers.next() | 1,
            Style::Empty | Style::Null => 0,
            Style::Random => match self.numbers.below(6) {
                0 => 0,
                1 => u64::MAX,
                2 => u64::MAX >> 1,
                _ => self.numbers.next(),
            },
        }
    }

    fn integer(&mut self, size: usize) {
        let number = self.number();
        self.sample.bytes.extend_from_slice(&number.to_be_bytes()[8 - size..]);
    }

    fn text(&mut self) -> String {
        let size = match self.style {
            Style::Filled => 3 + self.numbers.below(6),
            Style::Empty | Style::Null => 0,
            Style::Random if self.numbers.below(30) == 0 => 100 + self.numbers.below(100),
            Style::Random => self.numbers.below(8),
        };
        (0..size).map(|_| ['a', 'b', 'c', '-', '7', '_', 'é', '漢', '🦀'][self.numbers.below(9)]).collect()
    }

    fn count(&mut self) -> usize {
        match self.style {
            Style::Filled => 2,
            Style::Empty => 0,
            Style::Null => 1,
            Style::Random => self.numbers.below(4),
        }
    }

    fn length(&mut self, of: Of, length: Option<usize>) {
        let offset = self.sample.bytes.len();
        match length {
            _ if self.flexible => self.uvarint(length.map_or(0, |length| length + 1)),
            None if of == Of::String => self.sample.bytes.extend((-1_i16).to_be_bytes()),
            None => self.sample.bytes.extend((-1_i32).to_be_bytes()),
            Some(length) if of == Of::String => {
                self.sample.bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
            }
            Some(length) => self.sample.bytes.extend(u32::try_from(length).unwrap().to_be_bytes()),
        }
        let size = self.sample.bytes.len() - offset;
        self.sample.lengths.push(Length { offset, size, of, compact: self.flexible });
    }

    fn uvarint(&mut self, value: usize) {
        self.sample.bytes.extend(uvarint(u32::try_from(value).unwrap()));
    }
}

/// A varint in as many bytes as it needs.
pub(crate) fn uvarint(mut value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}
