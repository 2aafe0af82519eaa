//! `#[derive(State)]`: every field is part of the state unless it is marked `#[state(fixed)]`.
//!
//! So a field without a mark is saved, and a field whose type has no state (a table, a shared workload) does not compile until it is
//! marked. A type with a fixed field can only be loaded in place, into a value that was built from the same configuration.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use proc_macro2::{Ident, Span, TokenStream as Tokens};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Data, DeriveInput, Fields, GenericParam, Index, parse_macro_input, parse_quote};

/// Implements `State` field by field. `#[state(fixed)]` marks a field, or all fields of a type, as determined by the configuration and not
/// saved. `#[state(checked)]` on a type makes loading fail if its `fn check(&self) -> Result<(), StateError>` rejects the loaded value.
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    implementation(input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Returns true if `#[state(WORD)]` is among the attributes; fails if they contain a word that is not in `known`.
fn has_word(attributes: &[Attribute], word: &str, known: &[&str]) -> syn::Result<bool> {
    let mut found = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("state")) {
        attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident(word);
            if known.iter().any(|known| meta.path.is_ident(known)) { Ok(()) } else { Err(meta.error("an unknown word in #[state(..)]")) }
        })?;
    }
    Ok(found)
}

const TYPE_MARKS: &[&str] = &["fixed", "checked"];

/// A field of a struct or variant: its name in a pattern, the variable that holds it, and its mark `fixed`.
struct FieldBinding {
    pattern: Tokens,
    variable: Ident,
    fixed: bool,
}

fn field_bindings(fields: &Fields) -> syn::Result<Vec<FieldBinding>> {
    let part = |(number, field): (usize, &syn::Field)| {
        let variable = format_ident!("field_{number}", span = Span::call_site().located_at(field.ty.span()));
        let pattern = match &field.ident {
            Some(name) => quote!(#name),
            None => {
                let index = Index { index: number as u32, span: Span::call_site() };
                quote!(#index)
            }
        };
        Ok(FieldBinding { pattern, variable, fixed: has_word(&field.attrs, "fixed", &["fixed"])? })
    };
    fields.iter().enumerate().map(part).collect()
}

/// Returns a pattern that binds the variables.
fn pattern(path: &Tokens, parts: &[FieldBinding]) -> Tokens {
    let fields = parts
        .iter()
        .map(|FieldBinding { pattern, variable, fixed }| if *fixed { quote!(#pattern: _) } else { quote!(#pattern: #variable) });
    quote!(#path { #(#fields),* })
}

/// Returns an expression that reads a new value; with a fixed field, an expression that returns an error.
fn reading(path: &Tokens, parts: &[FieldBinding]) -> Tokens {
    if parts.iter().any(|part| part.fixed) {
        return quote!(Err(::warpshard_state::StateError::missing_part::<Self>()));
    }
    let fields = parts
        .iter()
        .map(|FieldBinding { pattern, variable, .. }| quote_spanned!(variable.span()=> #pattern: ::warpshard_state::State::read(from)?));
    quote!(Ok(#path { #(#fields),* }))
}

fn saving(parts: &[FieldBinding]) -> Tokens {
    let variables = parts.iter().filter(|part| !part.fixed).map(|part| &part.variable);
    quote!(#(::warpshard_state::State::save(#variables, to);)*)
}

fn loading(parts: &[FieldBinding]) -> Tokens {
    let variables = parts.iter().filter(|part| !part.fixed).map(|part| &part.variable);
    quote!(#(::warpshard_state::State::load(#variables, from)?;)* Ok(()))
}

fn implementation(mut input: DeriveInput) -> syn::Result<Tokens> {
    let all_fixed = has_word(&input.attrs, "fixed", TYPE_MARKS)?;
    let checked = has_word(&input.attrs, "checked", TYPE_MARKS)?;
    for parameter in &mut input.generics.params {
        if let GenericParam::Type(parameter) = parameter
            && !all_fixed
        {
            parameter.bounds.push(parse_quote!(::warpshard_state::State));
        }
    }
    let name = &input.ident;
    let (generics, arguments, conditions) = input.generics.split_for_impl();
    let (save, load, read) = match &input.data {
        _ if all_fixed => (
            quote!(let _ = to;),
            quote!(let _ = from; Ok(())),
            quote!(let _ = from; Err(::warpshard_state::StateError::missing_part::<Self>())),
        ),
        Data::Struct(data) => {
            let parts = field_bindings(&data.fields)?;
            let (here, save, load, read) =
                (pattern(&quote!(Self), &parts), saving(&parts), loading(&parts), reading(&quote!(Self), &parts));
            (quote!(let #here = self; let _ = &to; #save), quote!(let #here = self; let _ = &from; #load), quote!(let _ = &from; #read))
        }
        Data::Enum(data) => {
            let (mut saves, mut loads, mut reads) = (Vec::new(), Vec::new(), Vec::new());
            for (tag, variant) in (0_u16..).zip(&data.variants) {
                let (ident, parts) = (&variant.ident, field_bindings(&variant.fields)?);
                let path = quote!(Self::#ident);
                let (here, save, load, read) = (pattern(&path, &parts), saving(&parts), loading(&parts), reading(&path, &parts));
                saves.push(quote!(#here => { to.tag(#tag); #save }));
                loads.push(quote!((#tag, #here) => { #load }));
                reads.push(quote!(#tag => #read));
            }
            let tagged = quote! {
                let made = |tag: u16, from: &mut ::warpshard_state::Reader<'_>| -> Result<Self, ::warpshard_state::StateError> {
                    let _ = &from;
                    match tag { #(#reads,)* other => Err(::warpshard_state::StateError::unknown_variant::<Self>(other)) }
                };
            };
            let load = quote! {
                #tagged
                let tag = from.tag()?;
                match (tag, &mut *self) {
                    #(#loads)*
                    (other, place) => { *place = made(other, from)?; Ok(()) }
                }
            };
            let read = quote!(#tagged let tag = from.tag()?; made(tag, from));
            (quote!(match self { #(#saves)* }), load, read)
        }
        Data::Union(_) => return Err(syn::Error::new(name.span(), "`State` cannot be derived for a union")),
    };
    let (load, read) = if checked {
        (
            quote!(let loaded: Result<(), ::warpshard_state::StateError> = (|| { #load })(); loaded?; self.check()),
            quote!(let made: Self = (|| { #read })()?; made.check()?; Ok(made)),
        )
    } else {
        (load, read)
    };
    // If all code were inlined, the code of a whole machine would be compiled in the package that assembles it, and again in that package's
    // tests.
    let is_small = all_fixed || matches!(&input.data, Data::Struct(data) if data.fields.len() <= 2);
    let inline = is_small.then(|| quote!(#[inline]));
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::warpshard_state::State for #name #arguments #conditions {
            #inline
            fn save(&self, to: &mut ::warpshard_state::Writer) { #save }
            #inline
            fn load(&mut self, from: &mut ::warpshard_state::Reader<'_>) -> Result<(), ::warpshard_state::StateError> { #load }
            #inline
            fn read(from: &mut ::warpshard_state::Reader<'_>) -> Result<Self, ::warpshard_state::StateError> { #read }
        }
    })
}
