//! The constant banks of a launch.

use std::sync::Arc;

/// Number of constant banks.
const BANKS: usize = 18;

/// The constant banks of a launch. Most launches of a kernel differ only in their arguments, so [`Banks::share`] shares the other parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Banks {
    /// Bank 0 before the parameters: values that depend on the shape of the launch.
    head: Arc<[u8]>,
    /// Bank 0 from the parameters on.
    parameters: Box<[u8]>,
    /// Banks from 1 on: constants of the module and of the kernel.
    others: Arc<[Vec<u8>]>,
}

impl Banks {
    /// Creates the banks; the parameters of bank 0 start at offset `parameters`.
    pub(in super::super) fn new(mut banks: [Vec<u8>; BANKS], parameters: usize) -> Self {
        let first = &banks[0];
        let (head, parameters) = first.split_at(parameters.min(first.len()));
        let (head, parameters) = (head.into(), parameters.into());
        Self { head, parameters, others: banks[1..].iter_mut().map(std::mem::take).collect() }
    }

    /// Shares the parts that are equal in another launch.
    pub(in super::super) fn share(&mut self, other: &Self) {
        if self.head == other.head {
            self.head = Arc::clone(&other.head);
        }
        if self.others == other.others {
            self.others = Arc::clone(&other.others);
        }
    }

    /// Returns `bytes` bytes of a bank as a number, or `None` beyond its end.
    #[inline]
    pub(in super::super) fn read(&self, bank: u8, offset: i64, bytes: usize) -> Option<u64> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(bytes)?;
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        if let Some(other) = usize::from(bank).checked_sub(1) {
            return self.others.get(other)?.get(offset..end).map(number);
        }
        let before = self.head.len();
        match offset.checked_sub(before) {
            Some(offset) => self.parameters.get(offset..end - before).map(number),
            None if end <= before => self.head.get(offset..end).map(number),
            // The read spans the end of the launch values and the start of the parameters.
            None => {
                let (low, high) = (&self.head[offset..], self.parameters.get(..end - before)?);
                Some(number(low) | number(high) << (8 * low.len()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banks(parameters: usize, last: u8) -> Banks {
        let mut all: [Vec<u8>; BANKS] = Default::default();
        all[0] = vec![1, 2, 3, 4, 5, 6, 7, last];
        all[3] = vec![9, 10];
        Banks::new(all, parameters)
    }

    #[test]
    fn numbers_are_the_same_wherever_the_parameters_begin() {
        for parameters in 0..10 {
            let banks = banks(parameters, 8);
            assert_eq!(banks.read(0, 2, 4), Some(0x0605_0403), "parameters from byte {parameters} on");
            assert_eq!((banks.read(0, 0, 8), banks.read(0, 7, 1)), (Some(0x0807_0605_0403_0201), Some(8)));
            assert_eq!((banks.read(0, 5, 4), banks.read(0, 8, 1), banks.read(0, -1, 2)), (None, None, None));
            assert_eq!(
                (banks.read(3, 0, 2), banks.read(3, 1, 2), banks.read(1, 0, 1), banks.read(18, 0, 1)),
                (Some(0x0a09), None, None, None)
            );
        }
    }

    #[test]
    fn launches_share_data_independent_of_arguments() {
        let (first, mut second) = (banks(4, 8), banks(4, 0));
        second.share(&first);
        assert!(Arc::ptr_eq(&first.head, &second.head) && Arc::ptr_eq(&first.others, &second.others));
        assert_ne!(first, second);
        let mut third = banks(8, 0);
        third.share(&first);
        assert!(!Arc::ptr_eq(&first.head, &third.head), "another length is no equal head");
    }
}
