//! Thinning of a line's points for a picture.
//!
//! A line of up to [`MAX_POINTS`] points keeps all of them. A longer line is divided into groups of neighbouring points, and each group
//! keeps its minimum and its maximum, in their order: a group is narrower than a pixel, so that the picture looks the same as with all
//! points.

/// Maximum points of a line: several for each pixel of its width.
pub(super) const MAX_POINTS: usize = 8192;

/// A line whose points are added one after the other.
#[derive(Clone, Debug)]
pub(super) struct ThinnedSeries {
    /// Number of points in a group.
    group_points: usize,
    kept_points: Vec<(f64, f64)>,
    /// Number of points so far in the current group; `extremes` has its minimum and maximum, each with its index in the group.
    points_in_group: usize,
    extremes: [(usize, (f64, f64)); 2],
}

impl ThinnedSeries {
    /// Creates a line that will have `points` points.
    pub(super) fn of(points: usize) -> Self {
        let group = if points <= MAX_POINTS { 1 } else { points.div_ceil(MAX_POINTS / 2) };
        Self {
            group_points: group,
            kept_points: Vec::with_capacity(points.min(MAX_POINTS)),
            points_in_group: 0,
            extremes: [(0, (0.0, 0.0)); 2],
        }
    }

    /// Adds the next point.
    pub(super) fn push(&mut self, point: (f64, f64)) {
        let [least, greatest] = &mut self.extremes;
        if self.points_in_group == 0 || point.1 < least.1.1 {
            *least = (self.points_in_group, point);
        }
        if self.points_in_group == 0 || point.1 > greatest.1.1 {
            *greatest = (self.points_in_group, point);
        }
        self.points_in_group += 1;
        if self.points_in_group == self.group_points {
            self.close_group();
        }
    }

    fn close_group(&mut self) {
        let mut extremes = self.extremes;
        extremes.sort_by_key(|(place, _)| *place);
        self.kept_points.push(extremes[0].1);
        if extremes[0].0 != extremes[1].0 {
            self.kept_points.push(extremes[1].1);
        }
        self.points_in_group = 0;
    }

    /// Returns the points to draw.
    pub(super) fn points(mut self) -> Vec<(f64, f64)> {
        if self.points_in_group > 0 {
            self.close_group();
        }
        self.kept_points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
        let mut line = ThinnedSeries::of(points.len());
        points.iter().for_each(|point| line.push(*point));
        line.points()
    }

    fn line(points: usize) -> Vec<(f64, f64)> {
        (0..points).map(|i| (i as f64, (i * 7919 % 1000) as f64)).collect()
    }

    #[test]
    fn a_short_line_keeps_every_point() {
        let points = line(MAX_POINTS);
        assert_eq!(thinned(&points), points);
    }

    #[test]
    fn a_long_line_keeps_the_extremes_of_each_group_in_order() {
        let mut points = line(1_000_001);
        (points[700_000].1, points[700_003].1) = (-5.0, 5000.0);
        let kept = thinned(&points);
        assert!(kept.len() <= MAX_POINTS && kept.len() > MAX_POINTS / 2, "{}", kept.len());
        assert!(kept.is_sorted_by(|a, b| a.0 < b.0) && kept.iter().all(|point| points[point.0 as usize] == *point));
        assert!(kept.contains(&(700_000.0, -5.0)) && kept.contains(&(700_003.0, 5000.0)));
    }
}
