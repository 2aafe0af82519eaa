//! A macro for error types that hold one message.

/// Declares an error type that holds one message for the user, made from a `String` or a `&str`.
///
/// ```
/// warpshard_base::message_error! {
///     /// A frequency is out of range.
///     pub struct FrequencyError;
/// }
/// fn check(mhz: u32) -> Result<u32, FrequencyError> {
///     if mhz == 0 { Err("the frequency is 0 MHz; expected 1 or more".into()) } else { Ok(mhz) }
/// }
/// assert_eq!(check(0).unwrap_err().to_string(), "the frequency is 0 MHz; expected 1 or more");
/// ```
#[macro_export]
macro_rules! message_error {
    ($(#[$attribute:meta])* $visibility:vis struct $name:ident;) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $visibility struct $name(String);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::error::Error for $name {}

        impl From<String> for $name {
            fn from(message: String) -> Self {
                Self(message)
            }
        }

        impl From<&str> for $name {
            fn from(message: &str) -> Self {
                Self(message.to_owned())
            }
        }
    };
}
