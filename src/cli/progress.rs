//! The progress bar: simulated cycles, finished CTAs, speed and remaining time, on a terminal only.
//!
//! A separate thread draws the newest progress that the run has published; the run and this thread never wait for each other. Rates are
//! exponential averages over a few seconds, so that the estimate follows a run whose speed changes.

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use warpshard_chip::Progress;
use warpshard_report::text::{count, seconds, si_number};
use warpshard_sync::{Published, StopFlag};

/// Time constant of the averaged speed, in seconds.
const AVERAGING_SECONDS: f64 = 3.0;

/// Period at which the bar is redrawn.
const REDRAW_PERIOD: Duration = Duration::from_millis(125);

/// A progress bar on standard error, drawn until the value is dropped.
pub(super) struct ProgressView {
    published: Published<Progress>,
    done: StopFlag,
    painter: Option<JoinHandle<()>>,
}

impl ProgressView {
    /// Starts a bar if standard error is a terminal.
    pub(super) fn start() -> Self {
        let (published, done) = (Published::new(), StopFlag::new());
        let (seen, ended) = (published.clone(), done.clone());
        let thread = || std::thread::Builder::new().name("progress".into()).spawn(move || paint(&seen, &ended)).ok();
        let painter = if std::io::stderr().is_terminal() { thread() } else { None };
        Self { published, done, painter }
    }

    /// Returns the channel to which the run publishes its progress; `None` without a bar.
    pub(super) fn published(&self) -> Option<Published<Progress>> {
        self.painter.is_some().then(|| self.published.clone())
    }
}

impl Drop for ProgressView {
    fn drop(&mut self) {
        self.done.request();
        if let Some(painter) = self.painter.take() {
            painter.thread().unpark();
            // A thread that panicked has printed the reason; the run does not depend on it.
            let _ = painter.join();
        }
    }
}

fn paint(published: &Published<Progress>, done: &StopFlag) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
    let spinner = ProgressStyle::with_template("{spinner} {wide_msg}");
    let full = ProgressStyle::with_template("{bar:12} {percent:>3} %  {wide_msg}");
    let (Ok(spinner), Ok(full)) = (spinner, full) else { return };
    bar.set_style(spinner);
    let mut speed = Speed::new(Instant::now());
    let mut drawn: Option<Arc<Progress>> = None;
    while !done.requested() {
        if let Some(progress) = published.newest() {
            if drawn.as_ref().is_none_or(|drawn| !Arc::ptr_eq(drawn, &progress)) {
                speed.update(Instant::now(), &progress);
            }
            if progress.ctas > 0 {
                if bar.length().is_none() {
                    bar.set_style(full.clone());
                }
                bar.set_length(progress.ctas);
                bar.set_position(progress.ctas_done);
            }
            bar.set_message(message(&progress, &speed));
            drawn = Some(progress);
        }
        bar.tick();
        std::thread::park_timeout(REDRAW_PERIOD);
    }
    bar.finish_and_clear();
}

fn message(progress: &Progress, speed: &Speed) -> String {
    let eta = speed.remaining(progress).map_or_else(String::new, |left| format!("  {} left", seconds(left)));
    format!(
        "cycle {}  {}/{} CTAs  {} warp instr/s{eta}",
        count(progress.cycles),
        count(progress.ctas_done),
        count(progress.ctas),
        si_number(speed.instructions).trim_end(),
    )
}

/// Averaged speed of a run.
#[derive(Debug)]
pub(super) struct Speed {
    /// Time of the last update.
    at: Instant,
    /// Warp instructions at the last update.
    last_instructions: u64,
    /// Finished CTAs at the last update.
    last_ctas: u64,
    /// Warp instructions per second.
    pub(super) instructions: f64,
    /// CTAs per second.
    ctas: f64,
    /// True if the averages contain at least one update.
    started: bool,
}

impl Speed {
    pub(super) fn new(at: Instant) -> Self {
        Self { at, last_instructions: 0, last_ctas: 0, instructions: 0.0, ctas: 0.0, started: false }
    }

    pub(super) fn update(&mut self, now: Instant, progress: &Progress) {
        let elapsed = now.duration_since(self.at).as_secs_f64();
        // Shorter time spans measure mostly scheduling noise of the host.
        if elapsed < 0.05 {
            return;
        }
        let weight = if self.started { 1.0 - (-elapsed / AVERAGING_SECONDS).exp() } else { 1.0 };
        let rate = |new: u64, old: u64| new.saturating_sub(old) as f64 / elapsed;
        self.instructions += weight * (rate(progress.warp_instructions, self.last_instructions) - self.instructions);
        self.ctas += weight * (rate(progress.ctas_done, self.last_ctas) - self.ctas);
        (self.last_instructions, self.last_ctas) = (progress.warp_instructions, progress.ctas_done);
        (self.at, self.started) = (now, true);
    }

    /// Returns the estimated seconds until the last CTA ends, or `None` before the first CTA has ended.
    pub(super) fn remaining(&self, progress: &Progress) -> Option<f64> {
        let left = progress.ctas.saturating_sub(progress.ctas_done) as f64;
        (self.ctas > 0.0).then(|| left / self.ctas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(warp_instructions: u64, ctas_done: u64) -> Progress {
        Progress { cycles: 1000, warp_instructions, ctas_done, ctas: 100 }
    }

    #[test]
    fn speed_and_remaining_time_of_a_steady_run_are_exact() {
        let start = Instant::now();
        let mut speed = Speed::new(start);
        for second in 1..=5 {
            speed.update(start + Duration::from_secs(second), &progress(1000 * second, 10 * second));
        }
        assert!((speed.instructions - 1000.0).abs() < 1e-6);
        assert!((speed.remaining(&progress(5000, 50)).unwrap() - 5.0).abs() < 1e-6);
    }

    #[test]
    fn the_averaged_speed_follows_a_slower_run() {
        let start = Instant::now();
        let mut speed = Speed::new(start);
        speed.update(start + Duration::from_secs(1), &progress(1000, 10));
        speed.update(start + Duration::from_secs(11), &progress(2000, 20));
        assert!(speed.instructions < 150.0 && speed.instructions > 99.0, "{}", speed.instructions);
    }

    #[test]
    fn no_remaining_time_before_the_first_cta_ends() {
        let start = Instant::now();
        let mut speed = Speed::new(start);
        speed.update(start + Duration::from_secs(1), &progress(1000, 0));
        assert_eq!(speed.remaining(&progress(1000, 0)), None);
        assert!(!message(&progress(1000, 0), &speed).contains("left"));
    }
}
