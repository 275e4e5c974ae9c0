//! The language of the message tables: from a table of fields to a struct that reads and writes itself.

/// Declares structures of the protocol, one line a field:
///
/// ```text
/// name: type [= default] => versions [, nullable versions] [, tag n] [, ignorable];
/// ```
///
/// `versions` are those that have the field. A field that is set in a version without it is an error, unless
/// it is `ignorable`. A tagged field is written only if it differs from its default. Fields stand in the
/// order of the wire, tagged ones in the order of their tags.
macro_rules! structures {
    ($(
        $(#[$meta:meta])*
        $name:ident $(<$life:lifetime>)? {
            $(
                $(#[$field_meta:meta])*
                $field:ident: $type:ty $(= $default:expr)? => $versions:expr
                    $(, nullable $nullable:expr)? $(, tag $tag:literal)?
                    $(, ignorable $($_ignorable:literal)?)?;
            )*
        }
    )+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name $(<$life>)? {
            $(
                $(#[$field_meta])*
                #[doc = concat!(
                    "Versions `", stringify!($versions), "`"
                    $(, "; may be null in `", stringify!($nullable), "`")?
                    $(, "; default `", stringify!($default), "`")?
                    $(, "; tag ", $tag)?
                    $($(, $_ignorable)?, "; ignorable")?,
                    "."
                )]
                pub $field: $type,
            )*
        }

        impl $(<$life>)? Default for $name $(<$life>)? {
            fn default() -> Self {
                Self { $($field: $crate::structure::or_default!($($default)?),)* }
            }
        }

        impl<'a> $crate::field::Structure<'a> for $name $(<$life>)? {
            const SCHEMA: $crate::schema::Schema = $crate::schema::Schema {
                name: stringify!($name),
                fields: &[$($crate::schema::FieldSchema {
                    name: stringify!($field),
                    kind: <$type as $crate::field::Field>::KIND,
                    present: |version| ($versions).contains(&version),
                    nullable: |_version| $crate::structure::any_of!(_version $(, $nullable)?),
                    tag: $crate::structure::option!($($tag)?),
                    ignorable: $crate::structure::is_there!($($($_ignorable)? yes)?),
                },)*],
            };
        }

        impl<'a> $crate::field::Field<'a> for $name $(<$life>)? {
            const KIND: $crate::schema::Kind =
                $crate::schema::Kind::Struct(&<Self as $crate::field::Structure>::SCHEMA);

            fn read(
                reader: &mut $crate::reader::Reader<'a>,
                version: $crate::field::Version,
                _: bool,
            ) -> Result<Self, $crate::error::Fault> {
                let mut this = Self::default();
                $(
                    if const { $crate::structure::option!($($tag)?).is_none() }
                        && ($versions).contains(&version.number)
                    {
                        let nullable = $crate::structure::any_of!(version.number $(, $nullable)?);
                        this.$field = $crate::field::Field::read(reader, version, nullable)
                            .map_err(|fault| fault.named(stringify!($field)))?;
                    }
                )*
                if version.flexible {
                    for _ in 0..reader.uvarint()? {
                        let (tag, size) = reader.tag()?;
                        $(
                            if const { $crate::structure::option!($($tag)?) } == Some(tag)
                                && ($versions).contains(&version.number)
                            {
                                let nullable = $crate::structure::any_of!(version.number $(, $nullable)?);
                                this.$field = reader.tagged(tag, size, version, nullable)?;
                                continue;
                            }
                        )*
                        reader.take(size)?;
                    }
                }
                Ok(this)
            }

            fn write(
                &self,
                out: &mut Vec<u8>,
                version: $crate::field::Version,
                _: bool,
            ) -> Result<(), $crate::error::Fault> {
                $(
                    if !($versions).contains(&version.number) {
                        let default: $type = $crate::structure::or_default!($($default)?);
                        if !$crate::structure::is_there!($($($_ignorable)? yes)?) && self.$field != default {
                            return Err($crate::error::Fault::NotInVersion(stringify!($field)));
                        }
                    } else if const { $crate::structure::option!($($tag)?).is_none() } {
                        let nullable = $crate::structure::any_of!(version.number $(, $nullable)?);
                        $crate::field::Field::write(&self.$field, out, version, nullable)
                            .map_err(|fault| fault.named(stringify!($field)))?;
                    }
                )*
                if version.flexible {
                    let count = out.len();
                    out.push(0);
                    $(
                        if let Some(tag) = const { $crate::structure::option!($($tag)?) }
                            && ($versions).contains(&version.number)
                        {
                            let default: $type = $crate::structure::or_default!($($default)?);
                            if self.$field != default {
                                let nullable = $crate::structure::any_of!(version.number $(, $nullable)?);
                                $crate::field::write_tagged(out, tag, &self.$field, version, nullable)
                                    .map_err(|fault| fault.named(stringify!($field)))?;
                                // No structure has more tags than one byte can count.
                                out[count] += 1;
                            }
                        }
                    )*
                }
                Ok(())
            }
        }
    )+ };
}

/// The default of a field: what the table says, or that of its type.
macro_rules! or_default {
    () => {
        Default::default()
    };
    ($default:expr) => {
        $default
    };
}

/// A part of a table line that may be missing, as an `Option`.
macro_rules! option {
    () => {
        None::<u32>
    };
    ($value:expr) => {
        Some($value)
    };
}

/// Whether a flag of a table line is there.
macro_rules! is_there {
    () => {
        false
    };
    ($($flag:tt)+) => {
        true
    };
}

/// Whether a version is in a range that a table line may lack.
macro_rules! any_of {
    ($version:expr) => {{
        let _ = $version;
        false
    }};
    ($version:expr, $range:expr) => {
        ($range).contains(&$version)
    };
}

pub(crate) use {any_of, is_there, option, or_default, structures};
