//! The plots: who takes how long for what, and how that grows with the number of timers.

use benches::figures::Figures;
use benches::svg::{Anchor, FAINT, INK, LogScale, Sheet};

use crate::page::{amount, median, short_count};

const OURS: &str = "#0969da";
const OURS_TOO: &str = "#7fb5ee";
const OTHERS: &str = "#b9bec5";
const YARDSTICK: &str = "#e8d5a8";

/// Colours for lines that cross.
const LINES: [&str; 12] = [
    "#cf222e", "#8250df", "#1a7f37", "#bc4c00", "#6e7781", "#bf3989", "#9a6700", "#116329", "#57606a",
    "#a475f9", "#953800", "#4d2d00",
];

fn colour(peer: &str) -> &'static str {
    match peer {
        "TimingWheel" => OURS,
        "Purgatory, no keys" | "SharedPurgatory" => OURS_TOO,
        "nothing" | "floor" => YARDSTICK,
        _ => OTHERS,
    }
}

/// One panel a workload, one bar a participant, the fastest first.
pub(crate) fn by_workload(figures: &Figures, works: &[(&str, &str)], size: u32) -> String {
    const COLUMNS: usize = 3;
    const PANEL: f64 = 330.0;
    const BAR: f64 = 15.0;
    let panels: Vec<_> = works
        .iter()
        .map(|&(code, title)| (format!("{code} {title}"), medians(figures, code, size)))
        .filter(|(_, bars)| !bars.is_empty())
        .collect();
    let tallest = panels.iter().map(|(_, bars)| bars.len()).max().unwrap_or(0);
    let height = float(tallest) * BAR + 46.0;
    let rows = panels.len().div_ceil(COLUMNS);
    let mut sheet = Sheet::new(PANEL * float(COLUMNS) + 20.0, height * float(rows) + 44.0);
    let heading = format!(
        "{} timers: ns an operation, CPU time, median; logarithmic, less is better",
        short_count(size)
    );
    sheet.heading((14.0, 24.0), &heading);
    for (at, (title, bars)) in panels.iter().enumerate() {
        let (left, top) = (14.0 + PANEL * float(at % COLUMNS), 40.0 + height * float(at / COLUMNS));
        panel(&mut sheet, (left, top), PANEL - 24.0, BAR, title, bars);
    }
    sheet.finish()
}

fn panel(
    sheet: &mut Sheet,
    (left, top): (f64, f64),
    width: f64,
    bar: f64,
    title: &str,
    bars: &[(String, f64)],
) {
    const NAMES: f64 = 138.0;
    sheet.text((left, top + 14.0), Anchor::Start, INK, title);
    let scale = LogScale::over(bars.iter().map(|bar| bar.1), left + NAMES, left + width - 34.0);
    let bottom = top + 22.0 + float(bars.len()) * bar;
    for decade in scale.decades() {
        sheet.rule((scale.at(decade), top + 20.0), (scale.at(decade), bottom));
        sheet.text((scale.at(decade), bottom + 11.0), Anchor::Middle, FAINT, &amount(decade));
    }
    for (at, (name, nanos)) in bars.iter().enumerate() {
        let y = top + 22.0 + float(at) * bar;
        let ink = if matches!(colour(name), OURS | OURS_TOO) { OURS } else { INK };
        sheet.text((left + NAMES - 6.0, y + 11.0), Anchor::End, ink, name);
        let end = scale.at(*nanos);
        sheet.bar((left + NAMES, y + 2.0), (end - left - NAMES).max(1.0), bar - 4.0, colour(name));
        sheet.text((end + 4.0, y + 11.0), Anchor::Start, ink, &amount(*nanos));
    }
}

/// One panel a workload, one line a participant.
pub(crate) fn by_size(figures: &Figures, works: &[(&str, &str)]) -> String {
    const PANEL: f64 = 500.0;
    const HEIGHT: f64 = 430.0;
    let mut sheet = Sheet::new(PANEL * float(works.len()) + 10.0, HEIGHT);
    sheet.heading(
        (14.0, 24.0),
        "ns an operation against the number of timers, CPU time, median; both logarithmic",
    );
    let mut names: Vec<&str> = Vec::new();
    for cell in &figures.cells {
        let plotted = works.iter().any(|(code, _)| *code == cell.work) && !cell.cpu.is_empty();
        if plotted && !names.contains(&cell.peer.as_str()) {
            names.push(&cell.peer);
        }
    }
    for (at, &(code, title)) in works.iter().enumerate() {
        let lines: Vec<_> = names.iter().map(|name| (*name, line(figures, code, name))).collect();
        let place = (14.0 + PANEL * float(at), 50.0);
        curves(&mut sheet, place, (PANEL - 20.0, HEIGHT - 90.0), &format!("{code} {title}"), &lines);
    }
    sheet.finish()
}

type Line<'a> = (&'a str, Vec<(f64, f64)>);

fn curves(
    sheet: &mut Sheet,
    (left, top): (f64, f64),
    (width, height): (f64, f64),
    title: &str,
    lines: &[Line],
) {
    const NAMES: f64 = 150.0;
    let points = || lines.iter().flat_map(|line| &line.1);
    let x = LogScale::over(points().map(|point| point.0), left + 36.0, left + width - NAMES);
    let y = LogScale::over(points().map(|point| point.1), top + height, top + 14.0);
    sheet.text((left, top), Anchor::Start, INK, title);
    for decade in x.decades() {
        sheet.rule((x.at(decade), top + 14.0), (x.at(decade), top + height));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of timers")]
        let count = short_count(decade as u32);
        sheet.text((x.at(decade), top + height + 15.0), Anchor::Middle, FAINT, &count);
    }
    for decade in y.decades() {
        sheet.rule((left + 36.0, y.at(decade)), (left + width - NAMES, y.at(decade)));
        sheet.text((left + 30.0, y.at(decade) + 4.0), Anchor::End, FAINT, &amount(decade));
    }
    let mut labels = Vec::new();
    for (at, (name, points)) in lines.iter().enumerate() {
        let ours = matches!(colour(name), OURS | OURS_TOO);
        let stroke = if ours { colour(name) } else { LINES[at % LINES.len()] };
        let places: Vec<_> = points.iter().map(|point| (x.at(point.0), y.at(point.1))).collect();
        let Some(&(_, level)) = places.last() else { continue };
        sheet.curve(&places, stroke, if ours { 2.5 } else { 1.2 });
        labels.push((level, *name, stroke));
    }
    // Names stand at the ends of their lines, moved apart where they would lie on each other.
    labels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = top + 14.0;
    for label in &mut labels {
        label.0 = label.0.max(free);
        free = label.0 + 12.0;
    }
    let mut free = top + height;
    for label in labels.iter_mut().rev() {
        label.0 = label.0.min(free);
        free = label.0 - 12.0;
    }
    for (level, name, stroke) in labels {
        sheet.text((left + width - NAMES + 8.0, level + 4.0), Anchor::Start, stroke, name);
    }
}

fn medians(figures: &Figures, code: &str, size: u32) -> Vec<(String, f64)> {
    let of = figures.cells.iter().filter(|cell| cell.work == code && cell.size == size);
    let mut bars: Vec<_> = of.filter_map(|cell| Some((cell.peer.clone(), median(cell)?))).collect();
    bars.sort_by(|one, other| one.1.total_cmp(&other.1));
    bars
}

fn line(figures: &Figures, code: &str, peer: &str) -> Vec<(f64, f64)> {
    let of = figures.cells.iter().filter(|cell| cell.work == code && cell.peer == peer);
    let mut points: Vec<_> = of.filter_map(|cell| Some((f64::from(cell.size), median(cell)?))).collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    points
}

#[expect(clippy::cast_precision_loss, reason = "a few bars")]
fn float(count: usize) -> f64 {
    count as f64
}
