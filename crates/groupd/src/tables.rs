//! Tables for people: plain columns, as `ps` prints them, easy to read and to cut.

use comfy_table::{Table, presets};

/// Columns under `header`, two spaces apart. An empty text is shown as `-`, so that columns can be counted.
pub(crate) fn columns<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for row in rows {
        table.add_row(row.map(|text| if text.is_empty() { "-".into() } else { text }));
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
}
