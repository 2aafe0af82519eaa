//! Assignment of register numbers to register names: each name gets the consecutive registers that its uses need.

use warpshard_workload::NO_REGISTER;

/// An operand before register numbers are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegisterOperand {
    /// No operand.
    None,
    /// RZ, register number 255.
    Zero,
    /// The i-th register of a name.
    Named { name: u32, index: u32 },
}

#[derive(Clone, Debug)]
struct NamedRegisters {
    name: String,
    size: u32,
    align: u32,
    first: u32,
}

/// The register names of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Registers {
    groups: Vec<NamedRegisters>,
}

/// First assigned number; R1 holds the stack pointer by convention.
const FIRST_REGISTER: u32 = 2;
/// Number of the highest general register, R254, plus one: R255 is RZ.
pub(super) const REGISTER_LIMIT: u32 = 255;

impl Registers {
    /// Records a use of `width` registers from the `index`-th of `name`.
    pub(super) fn record_use(&mut self, name: &str, index: u32, width: u32) -> RegisterOperand {
        if name == "rz" {
            return RegisterOperand::Zero;
        }
        let at = self.groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            self.groups.push(NamedRegisters { name: name.to_owned(), size: 0, align: 1, first: 0 });
            self.groups.len() - 1
        });
        let group = &mut self.groups[at];
        group.size = group.size.max(index + width);
        group.align = group.align.max(width);
        RegisterOperand::Named { name: at as u32, index }
    }

    /// Assigns numbers in order of first use; wide registers are aligned, as the hardware requires. Returns the number of registers per
    /// thread.
    pub(super) fn assign(&mut self) -> u32 {
        let mut next = FIRST_REGISTER;
        for group in &mut self.groups {
            group.first = next.next_multiple_of(group.align);
            next = group.first + group.size;
        }
        next
    }

    /// Returns the register number of an operand, after `assign`.
    pub(super) fn number(&self, operand: RegisterOperand) -> u16 {
        match operand {
            RegisterOperand::None => NO_REGISTER,
            RegisterOperand::Zero => 255,
            RegisterOperand::Named { name, index } => (self.groups[name as usize].first + index) as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_registers_are_aligned_and_names_do_not_overlap() {
        let mut registers = Registers::default();
        let x = registers.record_use("x", 0, 1);
        let quad = registers.record_use("v", 0, 4);
        let last = registers.record_use("v", 3, 1);
        let y = registers.record_use("y", 2, 1);
        assert_eq!(registers.assign(), 11);
        assert_eq!([x, quad, last, y].map(|operand| registers.number(operand)), [2, 4, 7, 10]);
        assert_eq!(registers.number(registers.clone().record_use("rz", 0, 1)), 255);
        assert_eq!(registers.number(RegisterOperand::None), NO_REGISTER);
    }
}
