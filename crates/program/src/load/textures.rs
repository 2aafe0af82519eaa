//! Texture and surface objects: buffers as images.

use super::super::Program;
use super::super::contents::Element;
use super::super::error::ProgramError;
use super::super::exec::Texture;
use super::super::schema::{Filter, Outside, Rows, TextureRow};
use super::Loader;

/// Maximum texels in a dimension.
const MAX_TEXELS: i64 = 1 << 27;
/// Maximum texture objects of a program.
const MAX_TEXTURES: usize = 1 << 16;

impl Loader<'_> {
    /// Returns the texture objects of a launch file in its order.
    pub(super) fn textures(&self, program: &Program, rows: &Rows<TextureRow>) -> Result<Vec<Texture>, ProgramError> {
        if rows.len() > MAX_TEXTURES {
            return Err(self.row_problem("the program has too many textures").expected(format!("at most {MAX_TEXTURES}")));
        }
        rows.iter().map(|(name, row)| self.texture(program, name, self.row(row))).collect()
    }

    fn texture(&self, program: &Program, name: &str, row: &TextureRow) -> Result<Texture, ProgramError> {
        let buffers = program.buffers.iter().map(|buffer| buffer.name.as_str());
        let what = || format!("texture `{name}`: there is no buffer `{}`", row.buffer);
        if buffers.clone().any(|buffer| buffer == name) {
            return Err(self.row_problem(format!("texture `{name}` has the name of a buffer")).expected("another name"));
        }
        let place = buffers.clone().position(|known| known == row.buffer);
        let place = place.ok_or_else(|| self.unknown("buffer", what(), &row.buffer, buffers))?;
        let buffer = &program.buffers[place];
        let integer = match buffer.element {
            Element::Unsigned(1 | 2 | 4) | Element::Signed(1 | 2 | 4) => true,
            Element::Single => false,
            _ => {
                let what = format!("texture `{name}`: elements of buffer `{}` are too wide", row.buffer);
                return Err(self.row_problem(what).expected("u8, u16, u32, i8, i16, i32 or f32"));
            }
        };
        if !matches!(row.channels, 1 | 2 | 4) {
            let what = format!("texture `{name}` has an impossible number of channels");
            return Err(self.row_problem(what).found(row.channels.to_string()).expected("1, 2 or 4"));
        }
        let dimensions = row.size.len() - usize::from(row.layered && row.size.len() > 1);
        if row.size.is_empty() || row.size.len() > 3 || row.layered && row.size.len() < 2 {
            let expected = if row.layered { "2 or 3, the last for the layers" } else { "1 to 3" };
            let what = format!("texture `{name}` has {} sizes", row.size.len());
            return Err(self.row_problem(what).expected(expected));
        }
        let mut size = [1_u32; 3];
        for (number, value) in row.size.iter().enumerate() {
            let texels = self.number(value, &format!("size of texture `{name}`"))?;
            if !(1..=MAX_TEXELS).contains(&texels) {
                let expected = format!("1 to {MAX_TEXELS}");
                return Err(self
                    .row_problem(format!("size of texture `{name}` is out of range"))
                    .found(texels.to_string())
                    .expected(expected));
            }
            // The number of layers is the last size, for any number of dimensions.
            size[if number < dimensions { number } else { 2 }] = texels as u32;
        }
        let texel = u64::from(row.channels) * buffer.element.bytes() as u64;
        let wanted = size.iter().try_fold(texel, |bytes, &texels| bytes.checked_mul(u64::from(texels)));
        let there = buffer.count as u64 * buffer.element.bytes() as u64;
        if wanted.is_none_or(|wanted| wanted > there) {
            let found = format!("{} x {} x {} texels of {texel} bytes", size[0], size[1], size[2]);
            let what = format!("texture `{name}` is larger than buffer `{}`", row.buffer);
            return Err(self.row_problem(what).found(found).expected(format!("at most {there} bytes")));
        }
        if matches!(row.outside, Outside::Wrap | Outside::Mirror) && !row.normalized {
            let what = format!("texture `{name}` repeats its image, but has no normalised coordinates");
            return Err(self.row_problem(what).expected("normalized = true, as CUDA requires, or outside = \"clamp\" or \"border\""));
        }
        if row.filter == Filter::Linear && integer && !row.fractions {
            let what = format!("texture `{name}` filters integers");
            return Err(self
                .row_problem(what)
                .expected("elements of type f32, or integers of 8 or 16 bits with fractions = true, as CUDA requires"));
        }
        if row.fractions && !integer {
            let what = format!("texture `{name}`: `fractions` applies only to integers");
            return Err(self.row_problem(what).expected("elements of 8 or 16 bits"));
        }
        if row.fractions && buffer.element.bytes() == 4 {
            let what = format!("texture `{name}`: integers of 32 bits cannot be read as fractions");
            return Err(self.row_problem(what).expected("elements of 8 or 16 bits"));
        }
        Ok(Texture {
            start: program.addresses[place],
            element: buffer.element,
            channels: row.channels,
            size,
            layered: row.layered,
            outside: row.outside,
            normalized: row.normalized,
            fractions: row.fractions,
            filter: row.filter,
        })
    }
}
