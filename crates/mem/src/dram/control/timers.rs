//! The cycle from which each command is allowed, for each part of the channel.

use crate::dram::standard::{Command, Standard};

/// The effect of a command at one level: the delayed command, its distance, and the window in which it counts.
#[derive(Clone, Copy, Debug, warpshard_state::State)]
struct TimingEffect {
    follower: u8,
    cycles: u32,
    /// The index of the history that the effect uses; `CURRENT_COMMAND` for the command itself.
    window: u8,
}

const CURRENT_COMMAND: u8 = u8::MAX;
const LEVEL_COUNT: usize = 4;

/// The last commands of a kind at each part, as many as the window counts.
#[derive(Clone, Debug, warpshard_state::State)]
struct CommandHistory {
    level: usize,
    commands: u16,
    window: usize,
    /// A ring of cycles per part; 0 before the first command.
    rings: Box<[u64]>,
    next: Box<[u32]>,
}

/// The earliest cycle of every command at every part: channel, pseudo channels, bank groups and banks.
#[derive(Clone, Debug, warpshard_state::State)]
pub(super) struct Timers {
    ready: Box<[[u64; Command::COUNT]]>,
    /// The parts that contain each bank, from the channel down.
    path: Box<[[u16; LEVEL_COUNT]]>,
    /// The first part of each level, and the number of parts of a level within one pseudo channel.
    first: [usize; LEVEL_COUNT],
    per_pseudo_channel: [usize; LEVEL_COUNT],
    effects: [[Box<[TimingEffect]>; Command::COUNT]; LEVEL_COUNT],
    histories: Vec<CommandHistory>,
}

impl Timers {
    pub(super) fn new(standard: &Standard) -> Self {
        let o = &standard.organisation;
        let (pcs, groups, banks) = (o.pseudo_channels as usize, o.bank_groups as usize, o.banks as usize);
        let counts = [1, pcs, pcs * groups, pcs * groups * banks];
        let first = [0, 1, 1 + counts[1], 1 + counts[1] + counts[2]];
        let path = (0..counts[3]).map(|bank| {
            let parts = [0, first[1] + bank / (groups * banks), first[2] + bank / banks, first[3] + bank];
            parts.map(|part| part as u16)
        });
        let mut lists: [[Vec<TimingEffect>; Command::COUNT]; LEVEL_COUNT] = Default::default();
        let mut histories: Vec<CommandHistory> = Vec::new();
        for rule in standard.rules() {
            let level = rule.scope as usize;
            let commands = rule.preceding.iter().fold(0u16, |mask, &command| mask | 1 << command as u8);
            let window = if rule.window == 1 {
                CURRENT_COMMAND
            } else {
                let (window, parts) = (rule.window as usize, counts[level]);
                histories.push(CommandHistory {
                    level,
                    commands,
                    window,
                    rings: vec![0; window * parts].into(),
                    next: vec![0; parts].into(),
                });
                (histories.len() - 1) as u8
            };
            for &preceding in rule.preceding {
                for &following in rule.following {
                    let list = &mut lists[level][preceding as usize];
                    // Two rules for the same pair of commands at the same level are merged into the longer one.
                    let same = list.iter_mut().find(|e| e.follower == following as u8 && e.window == window && window == CURRENT_COMMAND);
                    match same {
                        Some(effect) => effect.cycles = effect.cycles.max(rule.cycles),
                        None => list.push(TimingEffect { follower: following as u8, cycles: rule.cycles, window }),
                    }
                }
            }
        }
        Self {
            ready: vec![[0; Command::COUNT]; first[3] + counts[3]].into(),
            path: path.collect(),
            first,
            per_pseudo_channel: [0, 1, groups, groups * banks],
            effects: lists.map(|level| level.map(Into::into)),
            histories,
        }
    }

    /// Returns the cycle from which `command` to a bank is allowed.
    #[inline]
    pub(super) fn bank_ready(&self, bank: usize, command: Command) -> u64 {
        let [a, b, c, d] = self.path[bank].map(|part| self.ready[usize::from(part)][command as usize]);
        a.max(b).max(c.max(d))
    }

    /// Returns the cycle from which the channel and the pseudo channel allow `command` to any of their banks.
    #[inline]
    pub(super) fn shared_ready(&self, pseudo_channel: usize, command: Command) -> u64 {
        self.ready[0][command as usize].max(self.ready[self.first[1] + pseudo_channel][command as usize])
    }

    /// Returns the cycle from which the bank group and the bank allow `command`.
    #[inline]
    pub(super) fn own_ready(&self, bank: usize, command: Command) -> u64 {
        let [_, _, group, own] = self.path[bank].map(usize::from);
        self.ready[group][command as usize].max(self.ready[own][command as usize])
    }

    /// Returns the cycle from which a command to all banks of a pseudo channel is allowed.
    pub(super) fn wide_ready(&self, pseudo_channel: usize, command: Command) -> u64 {
        let levels = (1..LEVEL_COUNT).flat_map(|level| {
            let from = self.first[level] + pseudo_channel * self.per_pseudo_channel[level];
            from..from + self.per_pseudo_channel[level]
        });
        levels.chain([0]).map(|part| self.ready[part][command as usize]).max().unwrap_or(0)
    }

    /// Records a command to a bank.
    #[inline]
    pub(super) fn issue_bank(&mut self, bank: usize, command: Command, now: u64) {
        for level in 0..LEVEL_COUNT {
            let part = usize::from(self.path[bank][level]);
            self.issue_at(level, part, command, now);
        }
    }

    /// Records a command to all banks of a pseudo channel.
    pub(super) fn issue_wide(&mut self, pseudo_channel: usize, command: Command, now: u64) {
        self.issue_at(0, 0, command, now);
        for level in 1..LEVEL_COUNT {
            let from = self.first[level] + pseudo_channel * self.per_pseudo_channel[level];
            for part in from..from + self.per_pseudo_channel[level] {
                self.issue_at(level, part, command, now);
            }
        }
    }

    #[inline]
    fn issue_at(&mut self, level: usize, part: usize, command: Command, now: u64) {
        let effects = &self.effects[level][command as usize];
        if effects.is_empty() {
            return;
        }
        let local = part - self.first[level];
        for history in &mut self.histories {
            if history.level == level && history.commands >> command as u8 & 1 != 0 {
                let next = &mut history.next[local];
                history.rings[local * history.window + *next as usize] = now;
                *next = (*next + 1) % history.window as u32;
            }
        }
        let ready = &mut self.ready[part];
        for effect in effects {
            let since = match effect.window {
                CURRENT_COMMAND => now,
                window => {
                    let history = &self.histories[usize::from(window)];
                    // The entry that is overwritten next holds the oldest command of the window.
                    history.rings[local * history.window + history.next[local] as usize]
                }
            };
            if since > 0 {
                let slot = &mut ready[usize::from(effect.follower)];
                *slot = (*slot).max(since + u64::from(effect.cycles));
            }
        }
    }
}
