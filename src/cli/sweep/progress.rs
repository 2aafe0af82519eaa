//! A progress line of a sweep: drawn on a terminal, printed once a minute elsewhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use warpshard_report::text::seconds;
use warpshard_sweep::SweepWatch;

use super::super::output;

/// Period of progress lines if standard error is not a terminal.
const PRINT_PERIOD: Duration = Duration::from_secs(60);

/// The progress line of a sweep.
#[derive(Debug)]
pub(super) struct ProgressLine {
    bar: ProgressBar,
    started: Instant,
    printed: Instant,
    all: usize,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { bar: ProgressBar::hidden(), started: now, printed: now, all: 0 }
    }
}

impl SweepWatch for ProgressLine {
    fn begin(&mut self, all: usize) {
        self.all = all;
        self.bar = ProgressBar::with_draw_target(Some(all as u64), ProgressDrawTarget::stderr_with_hz(8));
        if let Ok(style) = ProgressStyle::with_template("{bar:12} {pos}/{len} runs  {wide_msg}") {
            self.bar.set_style(style);
        }
    }

    fn show(&mut self, ended: usize, failed: usize, active: usize) {
        let rate = self.started.elapsed().as_secs_f64() / ended.max(1) as f64;
        let left = if ended > 0 { format!("  {} left", seconds(rate * (self.all - ended) as f64)) } else { String::new() };
        let failed = if failed > 0 { format!("  {failed} failed") } else { String::new() };
        let message = format!("{active} at a time{failed}{left}");
        self.bar.set_position(ended as u64);
        self.bar.set_message(message.clone());
        if self.bar.is_hidden() && self.printed.elapsed() >= PRINT_PERIOD {
            self.printed = Instant::now();
            output::warn(&format!("{ended}/{} runs  {message}", self.all));
        }
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }

    fn report_failure(&mut self, line: &str) {
        self.bar.suspend(|| output::warn(line));
    }
}
