//! HTML pages: the style that all pages share, and the page of a study with tables, figures, remarks and pictures, without scripts or
//! external resources.

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, ValueKind};
use minijinja::{Environment, Value, escape_formatter};
use serde::Serialize;

use super::text::printable_lines;

/// A table with a header row.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PageTable<'a> {
    /// The title of the table; may be empty.
    pub title: &'a str,
    /// The column headers.
    pub head: &'a [String],
    /// The cells of all rows.
    pub rows: &'a [Vec<String>],
}

/// The contents of a page, in the order of the fields.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The heading of the page.
    pub title: &'a str,
    /// The tables of the page.
    pub tables: &'a [PageTable<'a>],
    /// Headline figures: name and value.
    pub figures: &'a [(String, f64)],
    /// Remarks about the results.
    pub notes: &'a [String],
    /// File names of pictures in the folder of the page.
    pub images: &'a [&'a str],
}

/// The template environment of all pages: the shared style, and texts whose markup and control characters are escaped.
static PAGE_TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut pages = Environment::new();
    pages.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().expect("the usual delimiters"));
    pages.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if value.kind() == ValueKind::String && !value.is_safe() => {
            escape_formatter(out, state, &Value::from(printable_lines(text, &[]).as_ref()))
        }
        _ => escape_formatter(out, state, value),
    });
    pages.add_template("base.html", include_str!("templates/base.html")).expect("the template is part of the program");
    pages
});

/// Renders a page from a template that extends `base.html`, which has the style that all pages share. The template's name must end in
/// `.html`, so that texts are escaped.
///
/// # Panics
/// Panics if the template is invalid or names a variable that the context lacks: templates are part of the program.
pub fn render(name: &'static str, template: &'static str, context: impl Serialize) -> String {
    let mut pages = PAGE_TEMPLATES.clone();
    pages.add_template(name, template).unwrap_or_else(|error| panic!("template {name}: {error:#}"));
    let page = pages.get_template(name).and_then(|template| template.render(Value::from(Serde(context))));
    page.unwrap_or_else(|error| panic!("template {name}: {error:#}"))
}

/// The context of a page's template.
#[derive(Serialize)]
struct PageContext<'a> {
    title: &'a str,
    tables: Vec<&'a PageTable<'a>>,
    figures: Vec<(&'a str, String)>,
    notes: &'a [String],
    images: &'a [&'a str],
}

/// Renders the page as an HTML document.
pub fn page(page: &Page<'_>) -> String {
    let shown = PageContext {
        title: page.title,
        tables: page.tables.iter().filter(|table| !table.rows.is_empty()).collect(),
        figures: page.figures.iter().map(|(name, value)| (name.as_str(), format!("{value:.3}"))).collect(),
        notes: page.notes,
        images: page.images,
    };
    render("study.html", include_str!("templates/study.html"), shown)
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
            "<tr><th>kernel</th><th>IPC</th></tr>\n<tr><td>a&lt;b</td><td>1</td></tr>\n",
            "<div><span>mean &amp; more</span><b>1.500</b></div>\n",
            "<li>a &quot;remark&quot; of &#x27;mine&#x27;\\u{1b}[2J</li>",
            "<img src=\"plot.svg\" alt=\"plot.svg\">",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(!text.contains("empty"));
    }
}
