//! Plots on a logarithmic scale, as small SVG files that stand alone.

use std::fmt::Write as _;

/// Where a text is fastened to its place.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// It is centred there.
    Middle,
    /// It ends there.
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A white sheet; lengths are pixels from its upper left corner.
#[derive(Debug)]
pub struct Sheet {
    width: f64,
    height: f64,
    body: String,
}

/// Ink for text and axes.
pub const INK: &str = "#24292f";
/// Ink for what is less important.
pub const FAINT: &str = "#8c959f";
const RULE: &str = "#e4e7ea";

impl Sheet {
    /// An empty one.
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// One line of text, 11 pixels high.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, fill: &str, text: &str) {
        self.styled(x, y, anchor, fill, text, "");
    }

    /// A heading.
    pub fn heading(&mut self, (x, y): (f64, f64), text: &str) {
        self.styled(x, y, Anchor::Start, INK, text, r#" font-weight="bold" font-size="13""#);
    }

    fn styled(&mut self, x: f64, y: f64, anchor: Anchor, fill: &str, text: &str, style: &str) {
        let (anchor, text) = (anchor.name(), escaped(text));
        self.push(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{fill}"{style}>{text}</text>"#
        ));
    }

    /// A filled rectangle.
    pub fn bar(&mut self, (x, y): (f64, f64), width: f64, height: f64, fill: &str) {
        self.push(format_args!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{fill}"/>"#
        ));
    }

    /// A thin line behind what is plotted.
    pub fn rule(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.push(format_args!(
            r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" stroke="{RULE}"/>"#
        ));
    }

    /// A line through points, with a dot at each.
    pub fn curve(&mut self, points: &[(f64, f64)], stroke: &str, width: f64) {
        let path: Vec<_> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let path = path.join(" ");
        self.push(format_args!(
            r#"<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="{width}"/>"#
        ));
        for (x, y) in points {
            self.push(format_args!(
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="{}" fill="{stroke}"/>"#,
                width + 1.0
            ));
        }
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("a string takes all");
    }

    /// The file.
    pub fn finish(self) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// A logarithmic scale: from values to pixels.
///
/// ```
/// use benches::svg::LogScale;
/// let scale = LogScale::over([3.0, 700.0], 0.0, 300.0);
/// assert_eq!(scale.decades(), [1.0, 10.0, 100.0, 1_000.0]);
/// assert!((scale.at(10.0) - 100.0).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LogScale {
    lowest: i32,
    highest: i32,
    start: f64,
    end: f64,
}

impl LogScale {
    /// Over whole decades that hold all `values`, which are above 0, from the pixel `start` to the pixel `end`.
    pub fn over(values: impl IntoIterator<Item = f64>, start: f64, end: f64) -> Self {
        let exponents: Vec<f64> = values.into_iter().filter(|value| *value > 0.0).map(f64::log10).collect();
        let whole = |exponent: f64| {
            #[expect(clippy::cast_possible_truncation, reason = "an exponent of a time or a size")]
            let whole = exponent as i32;
            whole
        };
        let lowest =
            whole(exponents.iter().copied().fold(f64::INFINITY, f64::min).clamp(-12.0, 12.0).floor());
        let highest =
            whole(exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max).clamp(-12.0, 12.0).ceil());
        Self { lowest, highest: highest.max(lowest + 1), start, end }
    }

    /// The pixel of a value; that of the lowest for what is not above 0.
    pub fn at(&self, value: f64) -> f64 {
        let share = (value.log10() - f64::from(self.lowest)) / f64::from(self.highest - self.lowest);
        self.start + share.max(0.0) * (self.end - self.start)
    }

    /// The powers of ten on it.
    pub fn decades(&self) -> Vec<f64> {
        (self.lowest..=self.highest).map(|exponent| 10_f64.powi(exponent)).collect()
    }
}
