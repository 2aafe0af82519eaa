//! Nodes at the routers of a mesh, as text.
//!
//! `"gpu0 gpu1"` lists the nodes of a router; `"gpu"` without a number is an equal share of all cores of that kind, assigned in router
//! order; `"-"` is a router without nodes.

/// A node at a router; without a number, an equal share of all nodes of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seat {
    /// An SM.
    Gpu(Option<u32>),
    /// A CPU core.
    Cpu(Option<u32>),
    /// A memory partition.
    Mem(Option<u32>),
}

type SeatKind = (&'static str, fn(Option<u32>) -> Seat);

const SEAT_KINDS: [SeatKind; 3] = [("gpu", Seat::Gpu), ("cpu", Seat::Cpu), ("mem", Seat::Mem)];

impl Seat {
    fn parse(word: &str) -> Option<Self> {
        let (name, make) = SEAT_KINDS.iter().find(|(name, _)| word.starts_with(name))?;
        match &word[name.len()..] {
            "" => Some(make(None)),
            number => number.parse().ok().map(|number| make(Some(number))),
        }
    }

    fn text(self) -> String {
        let (name, number) = match self {
            Self::Gpu(number) => ("gpu", number),
            Self::Cpu(number) => ("cpu", number),
            Self::Mem(number) => ("mem", number),
        };
        number.map_or_else(|| name.to_owned(), |number| format!("{name}{number}"))
    }
}

/// Parses the text of a router.
pub(super) fn read(text: &str) -> Option<Vec<Seat>> {
    match text.trim() {
        "-" => Some(Vec::new()),
        text => text.split_whitespace().map(Seat::parse).collect::<Option<Vec<_>>>().filter(|seats| !seats.is_empty()),
    }
}

/// Writes all routers as TOML that [`read`] reads back.
pub(super) fn write(nodes: &[Vec<Seat>]) -> String {
    let text = |node: &Vec<Seat>| match node.as_slice() {
        [] => "\"-\"".to_owned(),
        seats => format!("\"{}\"", seats.iter().map(|seat| seat.text()).collect::<Vec<_>>().join(" ")),
    };
    format!("[{}]", nodes.iter().map(text).collect::<Vec<_>>().join(", "))
}
