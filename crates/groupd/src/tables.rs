//! Tables for people: plain columns, as `ps` prints them, easy to read and to cut.

use comfy_table::{Table, presets};

use crate::shown::on_one_line;

/// The most characters of a cell: every row is padded to the widest, and one name of 32 KiB must not make a table
/// of megabytes. Member ids and subscriptions as they are in real life fit.
const WIDEST: usize = 120;

/// Columns under `header`, two spaces apart. An empty text is shown as `-`, so that columns can be counted;
/// of a long one the front and a `…` (JSON has all of it); control characters as escapes.
pub(crate) fn columns<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for row in rows {
        table.add_row(row.map(|text| if text.is_empty() { "-".into() } else { on_one_line(&text, WIDEST) }));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_aligned_and_never_empty() {
        let rows = [["orders".into(), String::new()], ["o".into(), "12".into()]];
        assert_eq!(columns(["TOPIC", "OFFSET"], rows), "TOPIC   OFFSET\norders  -\no       12");
    }

    #[test]
    fn no_cell_widens_the_table_without_end_or_breaks_its_line() {
        let rows = [["g".repeat(32_000), "Empty".into()], ["a\nb".into(), "\u{1b}[2J".into()]];
        let table = columns(["GROUP", "STATE"], rows);
        assert_eq!(table.lines().count(), 3, "{table}");
        assert!(table.lines().all(|line| line.chars().count() <= super::WIDEST + 12), "{table}");
        assert!(table.contains("ggg…  Empty") && table.contains("a\\nb"), "{table}");
        assert!(table.contains("\\u{1b}[2J"), "{table}");
    }
}
