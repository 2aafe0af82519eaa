//! The common part of all charts: size, built-in font, and rendering to SVG.
//!
//! Text is measured and drawn with a built-in font, so that the same data gives the same bytes on every host.

use std::fmt::Display;
use std::sync::OnceLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;

use super::text::printable_lines;

/// Default width and height of a picture, in pixels.
pub const SIZE: (u32, u32) = (860, 640);

/// Why a picture cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// There are no points.
    #[error("the plot {title:?} has no points")]
    Empty {
        /// The plot's title.
        title: String,
    },
    /// A value that the axes cannot show: not finite, or not positive on a logarithmic axis.
    #[error("the plot {title:?} cannot show the point ({x}, {y}) of {series:?}", x = .point.0, y = .point.1)]
    Value {
        /// The plot's title.
        title: String,
        /// The series.
        series: String,
        /// The point.
        point: (f64, f64),
    },
    /// The drawing library or the system failed.
    #[error("cannot draw the plot {title:?}: {reason}")]
    Drawing {
        /// The plot's title.
        title: String,
        /// What went wrong.
        reason: String,
    },
}

/// Something that can be drawn on a surface of the library.
pub trait Picture {
    /// The title, which errors also contain.
    fn title(&self) -> &str;

    /// Its width and height in pixels.
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    /// Draws it.
    ///
    /// # Errors
    /// When there is nothing to draw, or a value that the axes cannot show.
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), PictureError>;

    /// An error of the library or the system, with the title of this picture.
    fn failure(&self, reason: &dyn Display) -> PictureError {
        PictureError::Drawing { title: self.title().to_owned(), reason: reason.to_string() }
    }

    /// The picture as an SVG document.
    ///
    /// # Errors
    /// As [`Picture::draw`].
    fn svg(&self) -> Result<String, PictureError> {
        let mut text = String::new();
        register_fonts().map_err(|reason| self.failure(&reason))?;
        self.draw(&SVGBackend::with_string(&mut text, self.size()).into_drawing_area())?;
        // Labels contain names from input, and XML allows no control characters.
        Ok(printable_lines(&text, &[]).into_owned())
    }
}

/// Registers the built-in font with the drawing library, once.
fn register_fonts() -> Result<(), &'static str> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let ok = *REGISTERED.get_or_init(|| register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT).is_ok());
    if ok { Ok(()) } else { Err("the built-in font is broken") }
}
