//! A study as an HTML page: tables, figures, remarks and pictures, without scripts or external resources.

use std::fmt::Write as _;

use super::text::printable_lines;

/// A table with a head.
#[derive(Clone, Copy, Debug)]
pub struct PageTable<'a> {
    /// Its title; may be empty.
    pub title: &'a str,
    /// The columns.
    pub head: &'a [String],
    /// The rows.
    pub rows: &'a [Vec<String>],
}

/// The contents of a page, in this order.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Its heading.
    pub title: &'a str,
    /// Tables.
    pub tables: &'a [PageTable<'a>],
    /// Headline figures.
    pub figures: &'a [(String, f64)],
    /// Remarks.
    pub notes: &'a [String],
    /// Files of pictures in the folder of the page.
    pub images: &'a [&'a str],
}

const STYLE: &str = "body{font-family:sans-serif;max-width:72em;margin:2em auto;padding:0 1em}\
table{border-collapse:collapse;margin:1em 0;font-size:90%}\
th,td{border-bottom:1px solid #ccc;padding:.2em .7em;text-align:right}\
th:first-child,td:first-child{text-align:left}\
img{max-width:100%;margin:1em 0}";

/// The page as an HTML document.
pub fn page(page: &Page<'_>) -> String {
    let title = escaped(page.title);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\n\
         <body>\n<h1>{title}</h1>\n"
    );
    for table in page.tables.iter().filter(|table| !table.rows.is_empty()) {
        if !table.title.is_empty() {
            let _ = writeln!(text, "<h2>{}</h2>", escaped(table.title));
        }
        let row = |cells: &[String], tag: &str| {
            let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
            format!("<tr>{cells}</tr>\n")
        };
        let rows: String = table.rows.iter().map(|cells| row(cells, "td")).collect();
        let _ = writeln!(text, "<table>\n{}{rows}</table>", row(table.head, "th"));
    }
    if !page.figures.is_empty() {
        let rows: String =
            page.figures.iter().map(|(name, value)| format!("<tr><td>{}</td><td>{value:.3}</td></tr>\n", escaped(name))).collect();
        let _ = writeln!(text, "<h2>Figures</h2>\n<table>\n{rows}</table>");
    }
    for image in page.images {
        let _ = writeln!(text, "<p><img src=\"{0}\" alt=\"{0}\"></p>", escaped(image));
    }
    if !page.notes.is_empty() {
        let notes: String = page.notes.iter().map(|note| format!("<li>{}</li>\n", escaped(note))).collect();
        let _ = writeln!(text, "<h2>Notes</h2>\n<ul>\n{notes}</ul>");
    }
    text + "</body>\n</html>\n"
}

fn escaped(text: &str) -> String {
    let text = printable_lines(text, &[]);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_everything_and_what_could_be_markup_is_text() {
        let (head, rows) = ([String::from("kernel"), "IPC".into()], [vec![String::from("a<b"), "1".into()]]);
        let tables = [PageTable { title: "", head: &head, rows: &rows }, PageTable { title: "empty", head: &head, rows: &[] }];
        let (figures, notes) = ([("mean & more".to_owned(), 1.5)], ["a \"remark\" of 'mine'\u{1b}[2J".to_owned()]);
        let text = page(&Page { title: "T", tables: &tables, figures: &figures, notes: &notes, images: &["plot.svg"] });
        for part in [
            "<h1>T</h1>",
            "<tr><th>kernel</th><th>IPC</th></tr>\n<tr><td>a&lt;b</td><td>1</td></tr>",
            "<tr><td>mean &amp; more</td><td>1.500</td></tr>",
            "<li>a &quot;remark&quot; of &#39;mine&#39;\\u{1b}[2J</li>",
            "<img src=\"plot.svg\" alt=\"plot.svg\">",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains("empty"));
    }
}
