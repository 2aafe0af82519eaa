//! A partition with mocks on its links.
