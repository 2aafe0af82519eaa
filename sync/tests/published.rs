//! Tests of published values from the readers' side.
#![cfg(not(loom))]

use std::sync::Arc;

use warpshard_sync::Published;

#[test]
fn readers_see_the_newest_value_and_none_before_the_first() {
    let published = Published::new();
    let reader = published.clone();
    assert_eq!(reader.newest(), None);
    published.publish(1);
    let first = reader.newest().expect("one was published");
    assert!(Arc::ptr_eq(&first, &reader.newest().expect("it stays")));
    published.publish(1);
    let second = reader.newest().expect("another was published");
    assert!(!Arc::ptr_eq(&first, &second), "an equal value that was published later is another one");
    assert_eq!((*first, *second), (1, 1));
}

#[test]
fn values_are_dropped_when_neither_published_nor_held() {
    let value = Arc::new(());
    let published = Published::new();
    published.publish(Arc::clone(&value));
    let held = published.newest();
    published.publish(Arc::clone(&value));
    assert_eq!(Arc::strong_count(&value), 3);
    drop(held);
    assert_eq!(Arc::strong_count(&value), 2);
    drop(published);
    assert_eq!(Arc::strong_count(&value), 1);
}
