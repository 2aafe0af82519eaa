//! Round trips of saved state: into built values and into new values.
#![expect(clippy::disallowed_types, reason = "maps with random keys are among what is saved")]

use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

use warpshard_host::Slots;

use super::*;

#[derive(Clone, Debug, PartialEq, State)]
enum Message {
    Empty,
    Number(u32),
    Named { text: String, on: Option<bool> },
}

/// A component whose size is configuration.
#[derive(Clone, Debug, PartialEq, State)]
struct MessageQueue {
    #[state(fixed)]
    capacity: usize,
    waiting: VecDeque<Message>,
}

#[derive(Clone, Debug, PartialEq, State)]
struct Unit {
    queues: Box<[MessageQueue]>,
    spare: Option<Box<MessageQueue>>,
    counts: [u64; 3],
    heap: Vec<(i8, f64)>,
}

fn unit(capacity: usize, waiting: &[Message]) -> Unit {
    let queue = MessageQueue { capacity, waiting: waiting.iter().cloned().collect() };
    Unit { queues: vec![queue.clone(), queue.clone()].into(), spare: Some(queue.into()), counts: [1, 2, 3], heap: vec![(-1, 0.5)] }
}

fn saved_bytes(value: &impl State) -> Vec<u8> {
    let mut to = Writer::default();
    value.save(&mut to);
    to.finish()
}

fn read_back<T: State>(value: &T) -> T {
    let bytes = saved_bytes(value);
    let mut from = Reader::new(&bytes);
    let read = T::read(&mut from).unwrap();
    from.finish().unwrap();
    read
}

#[test]
fn components_are_loaded_into_built_values() {
    let busy = unit(7, &[Message::Number(5), Message::Named { text: "a".into(), on: Some(true) }, Message::Empty]);
    let bytes = saved_bytes(&busy);
    let mut fresh = unit(9, &[Message::Number(1)]);
    let mut from = Reader::new(&bytes);
    fresh.load(&mut from).unwrap();
    from.finish().unwrap();
    assert_eq!(fresh, Unit { queues: fresh.queues.clone(), spare: fresh.spare.clone(), ..busy.clone() });
    assert_eq!((fresh.queues[1].capacity, &fresh.queues[1].waiting), (9, &busy.queues[1].waiting));
    assert_eq!(saved_bytes(&fresh), bytes);
}

#[test]
fn another_number_of_components_is_an_error() {
    let mut other = unit(7, &[]);
    other.queues = vec![other.queues[0].clone()].into();
    let bytes = saved_bytes(&unit(7, &[]));
    let error = other.load(&mut Reader::new(&bytes)).unwrap_err().to_string();
    assert!(error.contains("more parts of the type") && error.contains("Queue"), "{error}");
}

#[test]
fn new_values_are_read() {
    let map: BTreeMap<u8, Vec<String>> = [(1, vec!["x".to_owned()]), (0, Vec::new())].into();
    assert_eq!(read_back(&map), map);
    let hashed: HashMap<u64, char> = (0..100).map(|key| (key * 7 % 101, 'é')).collect();
    assert_eq!(read_back(&hashed), hashed);
    let heap: BinaryHeap<(u8, i64)> = [(1, -1), (9, i64::MIN), (1, 5)].into();
    assert_eq!(read_back(&heap).into_vec(), heap.into_vec());
    let slots = Slots::new(5, 3_u16);
    assert_eq!(read_back(&slots).as_slice(), slots.as_slice());
    assert_eq!(read_back(&("name", 0..5_usize, f64::NEG_INFINITY)), ("name", 0..5, f64::NEG_INFINITY));
}

#[test]
fn shared_values_are_written_once_and_shared_again() {
    let words: Arc<[u32]> = vec![7; 1000].into();
    let nested = Arc::new((Arc::clone(&words), 1_u8));
    let all = vec![(Arc::clone(&nested), Arc::clone(&words)), (nested, words)];
    let bytes = saved_bytes(&all);
    assert!(bytes.len() < 5000, "{} bytes", bytes.len());
    let read = read_back(&all);
    assert!(Arc::ptr_eq(&read[0].0, &read[1].0) && Arc::ptr_eq(&read[0].0.0, &read[1].1));
    assert_eq!(read[1].1.len(), 1000);
}

#[test]
fn bytes_of_another_type_are_an_error() {
    let bytes = saved_bytes(&vec![Message::Number(3); 4]);
    for cut in 0..bytes.len() {
        assert!(Vec::<Message>::read(&mut Reader::new(&bytes[..cut])).is_err(), "{cut} bytes");
    }
    assert!(Vec::<u8>::read(&mut Reader::new(&u64::MAX.to_le_bytes())).is_err());
    assert!(Message::read(&mut Reader::new(&[3, 0])).unwrap_err().to_string().contains("variant 3"));
    assert!(bool::read(&mut Reader::new(&[2])).is_err());
    let mut long = Reader::new(&bytes);
    u8::read(&mut long).unwrap();
    assert!(long.finish().unwrap_err().to_string().contains("left over"));
}

/// A linked list in which each element names its successor.
#[derive(Debug, Default, State)]
#[state(checked)]
struct LinkedList {
    first: u8,
    next: Vec<u8>,
}

impl LinkedList {
    fn check(&self) -> Result<(), StateError> {
        let some = |at: u8| (at != u8::MAX).then_some(usize::from(at));
        check_lists_end(self.next.len(), some(self.first), |at| some(self.next[at]))
    }
}

#[test]
fn an_endless_list_is_rejected_when_loaded_and_when_read() {
    let state = |first: u8, next: &[u8]| saved_bytes(&LinkedList { first, next: next.to_vec() });
    let said = |bytes: &[u8]| {
        let read = LinkedList::read(&mut Reader::new(bytes)).map(drop);
        assert_eq!(LinkedList::default().load(&mut Reader::new(bytes)), read);
        read.err().map(|error| error.to_string())
    };
    assert_eq!(said(&state(1, &[255, 2, 0])), None);
    assert_eq!(said(&state(255, &[0, 1])), None, "elements that no list comes to may name themselves");
    assert_eq!(said(&state(1, &[1, 2, 0])).as_deref(), Some("a saved list of 3 elements leads back to itself at number 1"));
    assert_eq!(said(&state(0, &[7])).as_deref(), Some("a saved list of 1 elements leads to number 7"));
    assert_eq!(check_lists_end(3, [0, 1, 2], |at| (at < 2).then_some(2)), Ok(()), "lists that meet");
}
