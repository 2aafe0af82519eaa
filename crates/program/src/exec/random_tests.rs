//! Tests with random branch-free programs, which are executed for 32 lanes in parallel and evaluated lane by lane on the host.

use warpshard_base::Rng;

use super::tests::lanes;

/// Registers of the programs: the inputs R4 to R6, and others.
const REGISTERS: [usize; 10] = [4, 5, 6, 12, 13, 14, 15, 16, 17, 18];
const INSTRUCTIONS: usize = 40;
const PROGRAMS: u64 = 300;

/// The state of a lane in the host's evaluation.
#[derive(Clone)]
struct LaneModel {
    registers: [u32; 32],
    predicates: [bool; 8],
}

/// The effect of one instruction on a lane.
type LaneEffect = Box<dyn Fn(&mut LaneModel)>;

/// The text of an operand, and its value.
type TextOperand<T> = (String, Box<dyn Fn(&LaneModel) -> T>);

struct ProgramWriter {
    random: Rng,
    text: Vec<String>,
    effects: Vec<LaneEffect>,
}

impl ProgramWriter {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }

    fn word(&mut self) -> u32 {
        let edges = [0, 1, 2, 31, 32, 33, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
        if self.random.below(3) == 0 { self.pick(&edges) } else { self.random.next_u64() as u32 }
    }

    /// Returns a random register or number.
    fn source(&mut self) -> TextOperand<u32> {
        if self.random.below(4) == 0 {
            let value = self.word();
            (format!("{value:#x}"), Box::new(move |_| value))
        } else {
            self.register()
        }
    }

    fn register(&mut self) -> TextOperand<u32> {
        let number = self.pick(&REGISTERS);
        (format!("R{number}"), Box::new(move |lane: &LaneModel| lane.registers[number]))
    }

    fn predicate(&mut self) -> TextOperand<bool> {
        let (number, inverted) = (self.random.below(4) as usize, self.random.below(2) == 1);
        (format!("{}P{number}", if inverted { "!" } else { "" }), Box::new(move |lane: &LaneModel| lane.predicates[number] != inverted))
    }

    /// Adds an instruction with or without a guard.
    fn push(&mut self, text: String, effect: impl Fn(&mut LaneModel) + 'static) {
        if self.random.below(4) == 0 {
            let (name, holds) = self.predicate();
            self.text.push(format!("@{name} {text}"));
            self.effects.push(Box::new(move |lane| {
                if holds(lane) {
                    effect(lane);
                }
            }));
        } else {
            self.text.push(text);
            self.effects.push(Box::new(effect));
        }
    }

    /// Adds an instruction with one destination register.
    fn compute(&mut self, opcode: &str, sources: &[&str], value: impl Fn(&LaneModel) -> u32 + 'static) {
        let to = self.pick(&REGISTERS);
        self.push(format!("{opcode} R{to}, {}", sources.join(", ")), move |lane| lane.registers[to] = value(lane));
    }

    fn instruction(&mut self) {
        let ((x, a), (y, b), (z, c)) = (self.register(), self.source(), self.register());
        match self.random.below(20) {
            0 => {
                let (minus_a, minus_c) = (self.random.below(2) == 1, self.random.below(2) == 1);
                let sign = |minus: bool| if minus { "-" } else { "" };
                let signed = |minus: bool, value: u32| if minus { value.wrapping_neg() } else { value };
                self.compute("IADD3", &[&format!("{}{x}", sign(minus_a)), &y, &format!("{}{z}", sign(minus_c))], move |lane| {
                    signed(minus_a, a(lane)).wrapping_add(b(lane)).wrapping_add(signed(minus_c, c(lane)))
                });
            }
            1 => self.compute("IMAD", &[&x, &y, &z], move |lane| a(lane).wrapping_mul(b(lane)).wrapping_add(c(lane))),
            2 => self.compute("IMAD.HI.U32", &[&x, &y, "RZ"], move |lane| ((u64::from(a(lane)) * u64::from(b(lane))) >> 32) as u32),
            3 | 4 => {
                let table = self.random.below(256) as u32;
                self.compute("LOP3.LUT", &[&x, &y, &z, &format!("{table:#x}"), "!PT"], move |lane| {
                    let (a, b, c) = (a(lane), b(lane), c(lane));
                    (0..32).fold(0, |word, bit| {
                        let index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1);
                        word | (table >> index & 1) << bit
                    })
                });
            }
            5 => self.compute("SHF.L.U32", &[&x, &y, "RZ"], move |lane| a(lane).checked_shl(b(lane)).unwrap_or(0)),
            6 => self.compute("SHF.R.U32.HI", &["RZ", &y, &x], move |lane| a(lane).checked_shr(b(lane)).unwrap_or(0)),
            7 => self.compute("SHF.R.S32.HI", &["RZ", &y, &x], move |lane| ((a(lane) as i32) >> b(lane).min(31)) as u32),
            8 => self.compute("SHF.L.W.U32.HI", &[&x, &y, &z], move |lane| {
                let both = u64::from(c(lane)) << 32 | u64::from(a(lane));
                (both << (b(lane) & 31) >> 32) as u32
            }),
            9 | 10 => {
                let (name, compare) = self.pick::<(&str, fn(i64, i64) -> bool)>(&[
                    ("LT", |a, b| a < b),
                    ("LE", |a, b| a <= b),
                    ("GT", |a, b| a > b),
                    ("GE", |a, b| a >= b),
                    ("EQ", |a, b| a == b),
                    ("NE", |a, b| a != b),
                ]);
                let (logic, combine) =
                    self.pick::<(&str, fn(bool, bool) -> bool)>(&[("AND", |a, b| a && b), ("OR", |a, b| a || b), ("XOR", |a, b| a != b)]);
                let (unsigned, (other, holds)) = (self.random.below(2) == 1, self.predicate());
                let (to, also) = (self.random.below(2) as usize, 2 + self.random.below(2) as usize);
                let kind = if unsigned { ".U32" } else { "" };
                self.push(format!("ISETP.{name}{kind}.{logic} P{to}, P{also}, {x}, {y}, {other}"), move |lane| {
                    let wide = |value: u32| if unsigned { i64::from(value) } else { i64::from(value as i32) };
                    let compared = compare(wide(a(lane)), wide(b(lane)));
                    let before = holds(lane);
                    (lane.predicates[to], lane.predicates[also]) = (combine(compared, before), combine(!compared, before));
                });
            }
            11 => {
                let (name, holds) = self.predicate();
                self.compute("SEL", &[&x, &y, &name], move |lane| if holds(lane) { a(lane) } else { b(lane) });
            }
            12 => {
                let selector = self.random.next_u64() as u32 & 0xffff;
                self.compute("PRMT", &[&x, &format!("{selector:#x}"), &z], move |lane| {
                    let bytes = (u64::from(c(lane)) << 32 | u64::from(a(lane))).to_le_bytes();
                    u32::from_le_bytes(std::array::from_fn(|place| {
                        let nibble = selector >> (4 * place);
                        let byte = bytes[nibble as usize & 7];
                        if nibble & 8 != 0 { ((byte as i8) >> 7) as u8 } else { byte }
                    }))
                });
            }
            13 => self.compute("POPC", &[&x], move |lane| a(lane).count_ones()),
            14 => self.compute("BREV", &[&x], move |lane| a(lane).reverse_bits()),
            15 => self.compute("FLO.U32", &[&x], move |lane| a(lane).checked_ilog2().unwrap_or(u32::MAX)),
            16 => self.compute("IMNMX", &[&x, &y, "!PT"], move |lane| (a(lane) as i32).max(b(lane) as i32) as u32),
            17 => {
                let shift = self.random.below(32) as u32;
                self.compute("LEA", &[&x, &y, &format!("{shift:#x}")], move |lane| (a(lane) << shift).wrapping_add(b(lane)));
            }
            18 => self.compute("I2F.U32", &[&x], move |lane| (a(lane) as f32).to_bits()),
            _ => {
                // Numbers whose sums and products are finite.
                let small = |value: u32| f32::from_bits(value & 0x807f_ffff | 0x3f80_0000);
                let to = self.pick(&REGISTERS);
                self.text.push(format!("LOP3.LUT R20, {x}, 0x807fffff, RZ, 0xc0, !PT"));
                self.text.push("LOP3.LUT R20, R20, 0x3f800000, RZ, 0xfc, !PT".into());
                self.text.push(format!("LOP3.LUT R21, {z}, 0x807fffff, RZ, 0xc0, !PT"));
                self.text.push("LOP3.LUT R21, R21, 0x3f800000, RZ, 0xfc, !PT".into());
                self.text.push(format!("FFMA R{to}, R20, R21, -R20"));
                self.effects.push(Box::new(move |lane| {
                    let (a, c) = (small(a(lane)), small(c(lane)));
                    lane.registers[to] = a.mul_add(c, -a).to_bits();
                }));
            }
        }
    }
}

#[test]
fn random_programs_match_the_host_evaluation() {
    for seed in 0..PROGRAMS {
        let mut writer = ProgramWriter { random: Rng::keyed(seed, &[77]), text: Vec::new(), effects: Vec::new() };
        for (number, from) in REGISTERS.into_iter().enumerate().skip(3) {
            let (first, second) = (REGISTERS[number % 3], REGISTERS[(number + 1) % 3]);
            let multiplier = writer.word() | 1;
            writer.text.push(format!("IMAD R{from}, R{first}, {multiplier:#x}, R{second}"));
            writer.effects.push(Box::new(move |lane| {
                lane.registers[from] = lane.registers[first].wrapping_mul(multiplier).wrapping_add(lane.registers[second]);
            }));
        }
        (0..INSTRUCTIONS).for_each(|_| writer.instruction());
        // All registers and predicates enter the result.
        writer.text.push("P2R R10, PR, RZ, 0xf".into());
        for number in REGISTERS {
            writer.text.push(format!("IMAD R10, R10, 0x01000193, R{number}"));
        }
        writer.text.push("MOV R11, RZ".into());
        let inputs: Vec<[u64; 3]> = (0..32).map(|_| std::array::from_fn(|_| u64::from(writer.word()))).collect();
        let code: Vec<&str> = writer.text.iter().map(String::as_str).collect();
        for (number, (got, input)) in lanes(&code, &inputs, false).into_iter().zip(&inputs).enumerate() {
            let mut lane = LaneModel { registers: [0; 32], predicates: [false; 8] };
            for (register, value) in [4, 5, 6].into_iter().zip(input) {
                lane.registers[register] = *value as u32;
            }
            writer.effects.iter().for_each(|effect| effect(&mut lane));
            let predicates = (0..4).fold(0, |word, index| word | u32::from(lane.predicates[index]) << index);
            let want = REGISTERS.iter().fold(predicates, |sum, &number| sum.wrapping_mul(0x0100_0193).wrapping_add(lane.registers[number]));
            assert_eq!(got as u32, want, "program {seed}, lane {number} of {input:x?}:\n{}", code.join("\n"));
        }
    }
}
