//! A macro for enumerations whose variants have names and other constant properties, written as one table.

/// Declares an enumeration with the columns of its properties and one row per variant: `Variant(property, ..): "meaning"`.
///
/// ```ignore
/// named! {
///     /// A knob.
///     pub enum Knob {
///         /// Its name in messages.
///         name: &'static str = 0;
///         CtaLimit("cta_limit"): "Most CTAs that an SM holds.",
///     }
/// }
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$outer:meta])* pub enum $name:ident {
        $($(#[$about:meta])* $property:ident: $type:ty = $column:tt),+;
        $($variant:ident($($value:expr),+): $doc:literal,)+
    }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $name {
            $(#[doc = $doc] $variant,)+
        }

        impl $name {
            const ROWS: &[($($type,)+)] = &[$(($($value,)+)),+];

            /// The number of variants.
            pub const COUNT: usize = Self::ROWS.len();

            /// All variants, in the order of their numbers.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            $(
                $(#[$about])*
                pub const fn $property(self) -> $type {
                    Self::ROWS[self as usize].$column
                }
            )+
        }
    };
}
