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
pub const DEFAULT_SIZE: (u32, u32) = (860, 640);

/// Reasons for which a picture cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The picture has no points.
    #[error("the plot {title:?} has no points")]
    Empty {
        /// Title of the picture.
        title: String,
    },
    /// A value that the axes cannot show: not finite, or not positive on a logarithmic axis.
    #[error("the plot {title:?} cannot show the point ({x}, {y}) of {series:?}", x = .point.0, y = .point.1)]
    Value {
        /// Title of the picture.
        title: String,
        /// Name of the series.
        series: String,
        /// Coordinates of the point.
        point: (f64, f64),
    },
    /// The drawing library or the system failed.
    #[error("cannot draw the plot {title:?}: {reason}")]
    Drawing {
        /// Title of the picture.
        title: String,
        /// Message of the library or the system.
        reason: String,
    },
}

/// A chart that can be drawn on a surface of the drawing library.
pub trait Picture {
    /// Returns the title, which errors also contain.
    fn title(&self) -> &str;

    /// Returns width and height of the picture in pixels.
    fn size(&self) -> (u32, u32) {
        DEFAULT_SIZE
    }

    /// Draws the picture.
    ///
    /// # Errors
    /// Fails if there is nothing to draw, or the axes cannot show a value.
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), PictureError>;

    /// Returns an error of the library or the system, with the title of this picture.
    fn failure(&self, reason: &dyn Display) -> PictureError {
        PictureError::Drawing { title: self.title().to_owned(), reason: reason.to_string() }
    }

    /// Renders the picture as an SVG document.
    ///
    /// # Errors
    /// Fails as [`Picture::draw`] does.
    fn svg(&self) -> Result<String, PictureError> {
        let mut text = String::new();
        register_fonts().map_err(|reason| self.failure(&reason))?;
        self.draw(&SVGBackend::with_string(&mut text, self.size()).into_drawing_area())?;
        // Labels contain names from input, and XML allows no control characters.
        Ok(printable_lines(&text, &[]).into_owned())
    }
}

/// Registers the built-in font with the drawing library at the first call.
fn register_fonts() -> Result<(), &'static str> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let ok = *REGISTERED.get_or_init(|| register_font("sans-serif", FontStyle::Normal, epaint_default_fonts::UBUNTU_LIGHT).is_ok());
    if ok { Ok(()) } else { Err("the built-in font is broken") }
}
