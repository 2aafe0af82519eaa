//! The written messages of Perfetto's trace format, according to `protos/perfetto/trace` of github.com/google/perfetto, in the encoding of
//! Protocol Buffers: each field is its number and kind, then its value.

/// An encoded message to which fields are appended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message(Vec<u8>);

/// Kinds of fields.
const VARINT_WIRE_TYPE: u64 = 0;
const EIGHT_BYTES_WIRE_TYPE: u64 = 1;
const LENGTH_WIRE_TYPE: u64 = 2;

impl Message {
    /// Appends a varint: seven bits per byte, the least significant first; the top bit marks that more bytes follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    /// Appends a field with a whole number.
    fn number(mut self, field: u64, value: u64) -> Self {
        self.key(field, VARINT_WIRE_TYPE);
        self.varint(value);
        self
    }

    /// Appends a field with a `double`.
    fn double(mut self, field: u64, value: f64) -> Self {
        self.key(field, EIGHT_BYTES_WIRE_TYPE);
        self.0.extend(value.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.key(field, LENGTH_WIRE_TYPE);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    fn optional<T>(self, value: Option<T>, add: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => add(self, value),
            None => self,
        }
    }
}

/// `TrackDescriptor`: a track, on which events are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Track<'a> {
    pub(super) uuid: u64,
    pub(super) name: &'a str,
    pub(super) parent: Option<u64>,
    /// The unit of a counter.
    pub(super) unit: Option<&'a str>,
    /// The name of the process that the track represents.
    pub(super) process: Option<&'a str>,
}

impl Track<'_> {
    fn message(&self) -> Message {
        let process = self.process.map(|name| Message::default().number(1, 1).text(6, name));
        let counter = self.unit.map(|unit| Message::default().text(6, unit));
        let track = Message::default().number(1, self.uuid).text(2, self.name);
        let track = track.optional(process, |track, process| track.message(3, &process));
        let track = track.optional(self.parent, |track, parent| track.number(5, parent));
        track.optional(counter, |track, counter| track.message(8, &counter))
    }
}

/// Types of events, with the numbers of `TrackEvent.Type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrackEventKind {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

/// A value of an event's annotation.
#[derive(Clone, Debug)]
pub(super) enum Fact {
    Number(u64),
    Text(String),
}

/// `TrackEvent`: an event on a track.
#[derive(Clone, Debug)]
pub(super) struct TrackEvent<'a> {
    pub(super) kind: TrackEventKind,
    pub(super) track: u64,
    pub(super) name: Option<&'a str>,
    /// The value of a counter.
    pub(super) value: Option<f64>,
    pub(super) facts: Vec<(&'a str, Fact)>,
}

impl TrackEvent<'_> {
    fn message(&self) -> Message {
        let fact = |event: Message, (name, fact): &(&str, Fact)| {
            let annotation = match fact {
                Fact::Number(value) => Message::default().number(3, *value),
                Fact::Text(text) => Message::default().text(6, text),
            };
            event.message(4, &annotation.text(10, name))
        };
        let event = self.facts.iter().fold(Message::default(), fact).number(9, self.kind as u64).number(11, self.track);
        event.optional(self.name, |event, name| event.text(23, name)).optional(self.value, |event, value| event.double(44, value))
    }
}

/// `Trace`: a sequence of packets.
#[derive(Clone, Debug, Default)]
pub(super) struct Trace(Message);

impl Trace {
    /// Adds a track; must precede its first event.
    pub(super) fn track(&mut self, track: &Track<'_>) {
        self.packet(Message::default().message(60, &track.message()));
    }

    /// Adds an event at a time in nanoseconds.
    pub(super) fn event(&mut self, nanoseconds: u64, event: &TrackEvent<'_>) {
        self.packet(Message::default().number(8, nanoseconds).message(11, &event.message()));
    }

    /// All packets of a writer have the same sequence number.
    fn packet(&mut self, packet: Message) {
        self.0 = std::mem::take(&mut self.0).message(1, &packet.number(10, 1));
    }

    /// Returns the bytes of the file.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.0
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The value of a decoded field.
    #[derive(Clone, Debug, PartialEq)]
    pub(in super::super) enum Value {
        Number(u64),
        Double(f64),
        Bytes(Vec<u8>),
    }

    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }

    /// Decodes the fields of a message in their order.
    pub(in super::super) fn fields(mut bytes: &[u8]) -> Vec<(u64, Value)> {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = match key & 7 {
                VARINT_WIRE_TYPE => Value::Number(varint(&mut bytes)),
                EIGHT_BYTES_WIRE_TYPE => {
                    let (value, rest) = bytes.split_at(8);
                    bytes = rest;
                    Value::Double(f64::from_le_bytes(value.try_into().unwrap()))
                }
                LENGTH_WIRE_TYPE => {
                    let length = varint(&mut bytes) as usize;
                    let (value, rest) = bytes.split_at(length);
                    bytes = rest;
                    Value::Bytes(value.to_vec())
                }
                kind => panic!("kind {kind}"),
            };
            fields.push((key >> 3, value));
        }
        fields
    }

    #[test]
    fn fields_are_encoded_as_the_format_says() {
        // The expected bytes are from the documentation of the encoding.
        assert_eq!(Message::default().number(1, 150).0, [0x08, 0x96, 0x01]);
        assert_eq!(Message::default().text(2, "testing").0, [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        let inner = Message::default().number(1, 150);
        assert_eq!(Message::default().message(3, &inner).0, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        let all = Message::default().number(60, u64::MAX).double(44, -1.5);
        assert_eq!(fields(&all.0), [(60, Value::Number(u64::MAX)), (44, Value::Double(-1.5))]);
    }
}
