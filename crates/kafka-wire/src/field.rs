//! How each type of field is laid out: the primitives of the protocol, in both of its encodings.

use crate::error::Fault;
use crate::reader::Reader;
use crate::schema::{Kind, Schema};

/// A version of a message, and whether it is a flexible one: compact lengths and tagged fields (KIP-482).
#[derive(Clone, Copy)]
pub(crate) struct Version {
    pub(crate) number: i16,
    pub(crate) flexible: bool,
}

/// A 128-bit id, as topics have one. All zero stands for "none".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// No id.
    pub const ZERO: Self = Self([0; 16]);
}

/// A type that a field can have. `nullable` says whether null is allowed in this version.
pub(crate) trait Field<'a>: Sized {
    /// What it is, for tools and tests.
    const KIND: Kind;
    /// No value takes fewer bytes than this in any version. At least 1, so a count is bounded by what is
    /// left.
    const MIN_SIZE: usize = 1;

    fn read(reader: &mut Reader<'a>, version: Version, nullable: bool) -> Result<Self, Fault>;
    fn write(&self, out: &mut Vec<u8>, version: Version, nullable: bool) -> Result<(), Fault>;
}

/// A field type of our own tables, as opposed to the primitives. It may be null as a whole.
pub(crate) trait Structure<'a>: Field<'a> {
    /// Its table.
    const SCHEMA: Schema;
}

macro_rules! integers {
    ($($type:ident: $kind:ident),+) => { $(
        impl<'a> Field<'a> for $type {
            const KIND: Kind = Kind::$kind;
            const MIN_SIZE: usize = size_of::<$type>();

            #[inline]
            fn read(reader: &mut Reader<'a>, _: Version, _: bool) -> Result<Self, Fault> {
                Ok(Self::from_be_bytes(reader.array()?))
            }

            #[inline]
            fn write(&self, out: &mut Vec<u8>, _: Version, _: bool) -> Result<(), Fault> {
                out.extend_from_slice(&self.to_be_bytes());
                Ok(())
            }
        }
    )+ };
}

integers!(i8: Int8, i16: Int16, i32: Int32, i64: Int64);

impl<'a> Field<'a> for bool {
    const KIND: Kind = Kind::Bool;

    #[inline]
    fn read(reader: &mut Reader<'a>, _: Version, _: bool) -> Result<Self, Fault> {
        Ok(reader.array()? != [0])
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>, _: Version, _: bool) -> Result<(), Fault> {
        out.push(u8::from(*self));
        Ok(())
    }
}

impl<'a> Field<'a> for Uuid {
    const KIND: Kind = Kind::Uuid;
    const MIN_SIZE: usize = 16;

    #[inline]
    fn read(reader: &mut Reader<'a>, _: Version, _: bool) -> Result<Self, Fault> {
        reader.array().map(Self)
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>, _: Version, _: bool) -> Result<(), Fault> {
        out.extend_from_slice(&self.0);
        Ok(())
    }
}

impl<'a> Field<'a> for Option<&'a str> {
    const KIND: Kind = Kind::String;

    #[inline]
    fn read(reader: &mut Reader<'a>, version: Version, nullable: bool) -> Result<Self, Fault> {
        let Some(length) = reader.string_length(version.flexible)? else { return null(nullable) };
        str::from_utf8(reader.take(length)?).map(Some).map_err(|_| Fault::NotUtf8)
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>, version: Version, nullable: bool) -> Result<(), Fault> {
        let Some(text) = self else { return write_null(out, version, nullable, &(-1_i16).to_be_bytes()) };
        let length = i16::try_from(text.len()).map_err(|_| Fault::TooLong(""))?;
        if version.flexible {
            write_uvarint(out, u32::from(length.cast_unsigned()) + 1);
        } else {
            out.extend_from_slice(&length.to_be_bytes());
        }
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl<'a> Field<'a> for Option<&'a [u8]> {
    const KIND: Kind = Kind::Bytes;

    #[inline]
    fn read(reader: &mut Reader<'a>, version: Version, nullable: bool) -> Result<Self, Fault> {
        let Some(length) = reader.length(version.flexible)? else { return null(nullable) };
        reader.take(length).map(Some)
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>, version: Version, nullable: bool) -> Result<(), Fault> {
        write_length(out, self.map(<[u8]>::len), version, nullable)?;
        out.extend_from_slice(self.unwrap_or_default());
        Ok(())
    }
}

impl<'a, T: Field<'a>> Field<'a> for Option<Vec<T>> {
    const KIND: Kind = Kind::Array(&T::KIND);

    #[inline]
    fn read(reader: &mut Reader<'a>, version: Version, nullable: bool) -> Result<Self, Fault> {
        let Some(count) = reader.length(version.flexible)? else { return null(nullable) };
        read_elements(reader, count, version).map(Some)
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>, version: Version, nullable: bool) -> Result<(), Fault> {
        write_elements(self.as_deref(), out, version, nullable)
    }
}

impl<'a, T: Structure<'a>> Field<'a> for Option<T> {
    const KIND: Kind = Kind::Nullable(&T::KIND);

    #[inline]
    fn read(reader: &mut Reader<'a>, version: Version, nullable: bool) -> Result<Self, Fault> {
        if i8::from_be_bytes(reader.array()?) < 0 {
            return null(nullable);
        }
        T::read(reader, version, false).map(Some)
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>, version: Version, nullable: bool) -> Result<(), Fault> {
        match self {
            Some(value) => {
                out.push(1);
                value.write(out, version, false)
            }
            None if nullable => {
                out.push(0xff);
                Ok(())
            }
            None => Err(Fault::Null("")),
        }
    }
}

/// What can never be null is what can be, read and written as if no version allowed it.
macro_rules! never_null {
    ($($type:ty),+) => { $(
        impl<'a> Field<'a> for $type {
            const KIND: Kind = <Option<$type>>::KIND;

            #[inline]
            fn read(reader: &mut Reader<'a>, version: Version, _: bool) -> Result<Self, Fault> {
                <Option<$type>>::read(reader, version, false)?.ok_or(Fault::Null(""))
            }

            #[inline]
            fn write(&self, out: &mut Vec<u8>, version: Version, _: bool) -> Result<(), Fault> {
                Some(*self).write(out, version, false)
            }
        }
    )+ };
}

never_null!(&'a str, &'a [u8]);

impl<'a, T: Field<'a>> Field<'a> for Vec<T> {
    const KIND: Kind = Kind::Array(&T::KIND);

    #[inline]
    fn read(reader: &mut Reader<'a>, version: Version, _: bool) -> Result<Self, Fault> {
        let count = reader.length(version.flexible)?.ok_or(Fault::Null(""))?;
        read_elements(reader, count, version)
    }

    #[inline]
    fn write(&self, out: &mut Vec<u8>, version: Version, _: bool) -> Result<(), Fault> {
        write_elements(Some(self), out, version, false)
    }
}

#[inline]
fn null<T>(nullable: bool) -> Result<Option<T>, Fault> {
    if nullable { Ok(None) } else { Err(Fault::Null("")) }
}

/// Reads the elements of an array. A count is only a claim: the first reservation is no bigger than the bytes
/// that are left, and the whole one is made when the first has been filled with real elements.
fn read_elements<'a, T: Field<'a>>(
    reader: &mut Reader<'a>,
    count: usize,
    version: Version,
) -> Result<Vec<T>, Fault> {
    /// Elements worth reserving for at once, however few bytes are left.
    const FEW: usize = 4;
    let size = size_of::<T>().max(1);
    if count > reader.left() / T::MIN_SIZE {
        return Err(Fault::Count { claimed: i64::try_from(count).unwrap_or(i64::MAX), left: reader.left() });
    }
    let first = count.min((reader.left() / size).max(FEW));
    reader.charge(first.saturating_mul(size))?;
    let mut elements = Vec::with_capacity(first);
    for _ in 0..first {
        elements.push(T::read(reader, version, false)?);
    }
    if first < count {
        reader.charge(count.saturating_mul(size))?;
        elements.reserve_exact(count - first);
        reader.refund(first * size);
        for _ in first..count {
            elements.push(T::read(reader, version, false)?);
        }
    }
    Ok(elements)
}

#[inline]
fn write_elements<'a, T: Field<'a>>(
    elements: Option<&[T]>,
    out: &mut Vec<u8>,
    version: Version,
    nullable: bool,
) -> Result<(), Fault> {
    write_length(out, elements.map(<[T]>::len), version, nullable)?;
    elements.unwrap_or_default().iter().try_for_each(|element| element.write(out, version, false))
}

#[inline]
fn write_length(
    out: &mut Vec<u8>,
    length: Option<usize>,
    version: Version,
    nullable: bool,
) -> Result<(), Fault> {
    let Some(length) = length else { return write_null(out, version, nullable, &(-1_i32).to_be_bytes()) };
    let length = i32::try_from(length).map_err(|_| Fault::TooLong(""))?;
    if version.flexible {
        write_uvarint(out, length.cast_unsigned() + 1);
    } else {
        out.extend_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// Null is a length of -1, and a compact length is one more than it says.
#[inline]
fn write_null(out: &mut Vec<u8>, version: Version, nullable: bool, classic: &[u8]) -> Result<(), Fault> {
    match (nullable, version.flexible) {
        (false, _) => return Err(Fault::Null("")),
        (true, true) => out.push(0),
        (true, false) => out.extend_from_slice(classic),
    }
    Ok(())
}

/// An unsigned varint: seven bits a byte, the lowest first. Most lengths take one.
#[inline]
pub(crate) fn write_uvarint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

/// Writes a tagged field: its tag, its size and its value.
pub(crate) fn write_tagged<'a>(
    out: &mut Vec<u8>,
    tag: u32,
    value: &impl Field<'a>,
    version: Version,
    nullable: bool,
) -> Result<(), Fault> {
    write_uvarint(out, tag);
    let start = out.len();
    value.write(out, version, nullable)?;
    let end = out.len();
    // The size is known only now: it is written behind the value, then moved to its front.
    write_uvarint(out, u32::try_from(end - start).map_err(|_| Fault::TooLong(""))?);
    let size = out.len() - end;
    out[start..].rotate_right(size);
    Ok(())
}
