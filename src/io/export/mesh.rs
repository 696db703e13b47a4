//! Meshes of the ground: glTF with its colour map, OBJ, and a watertight STL to print.

use std::{
    io::{self, Write},
    path::Path,
};

use glam::Vec3;
use gltf::{
    Glb,
    binary::Header,
    json::{
        Accessor, Buffer, Image, Index, Material, Mesh, Node, Root, Scene, Texture,
        accessor::{ComponentType, GenericComponentType, Type},
        buffer::{Target, View},
        image::MimeType,
        material::{PbrMetallicRoughness, StrengthFactor},
        mesh::{Mode, Primitive, Semantic},
        texture::{Info, MagFilter, MinFilter, Sampler, WrappingMode},
        validation::Checked::Valid,
    },
};
use serde_json::json;
use stl_io::{Triangle, Vertex};

use crate::{
    io::{Error, Progress, output},
    sim::{analysis, grid::Grid, terrain::Terrain},
};

/// A print: how wide it gets, and how thick it is below the lowest ground, in millimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Print {
    /// Longer side.
    pub width: f32,
    /// Thickness below the lowest ground.
    pub base: f32,
}

impl Default for Print {
    fn default() -> Self {
        Self { width: 150.0, base: 3.0 }
    }
}

/// Places of the ground's cells in metres: x to the right in the picture, z down in it, y upwards; the middle is 0.
fn places(terrain: &Terrain) -> Vec<[f32; 3]> {
    let ground = terrain.ground();
    let (width, height) = (ground.width(), ground.height());
    let middle = |cell: usize, count: usize| (cell as f32 - 0.5 * (count as f32 - 1.0)) * terrain.cell_size;
    (0..ground.len())
        .map(|index| [middle(index % width, width), ground[index], middle(index / width, height)])
        .collect()
}

/// Two triangles for four cells each, seen from above against the clock.
fn triangles(width: usize, height: usize) -> impl Iterator<Item = [u32; 3]> {
    (0..2 * width.saturating_sub(1) * height.saturating_sub(1)).map(move |index| triangle(width, index))
}

/// One of these triangles.
fn triangle(width: usize, index: usize) -> [u32; 3] {
    let (x, y) = (index / 2 % (width - 1), index / 2 / (width - 1));
    let [a, b, c, d] = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)].map(|(x, y)| (y * width + x) as u32);
    if index % 2 == 0 { [a, c, b] } else { [b, c, d] }
}

/// A glTF document, and the numbers that it names.
#[derive(Default)]
struct Document {
    root: Root,
    bytes: Vec<u8>,
}

impl Document {
    /// Takes bytes in, as a part of the one buffer.
    fn view(&mut self, bytes: impl IntoIterator<Item = u8>, target: Option<Target>) -> Index<View> {
        let start = self.bytes.len();
        self.bytes.extend(bytes);
        self.root.push(View {
            buffer: Index::new(0),
            byte_length: (self.bytes.len() - start).into(),
            byte_offset: Some(start.into()),
            byte_stride: None,
            name: None,
            target: target.map(Valid),
            extensions: None,
            extras: Default::default(),
        })
    }

    /// Takes numbers of four bytes in.
    fn numbers(
        &mut self,
        component: ComponentType,
        shape: Type,
        numbers: impl Iterator<Item = [u8; 4]>,
    ) -> Index<Accessor> {
        let start = self.bytes.len();
        let target = if shape == Type::Scalar { Target::ElementArrayBuffer } else { Target::ArrayBuffer };
        let view = self.view(numbers.flatten(), Some(target));
        self.root.push(Accessor {
            buffer_view: Some(view),
            byte_offset: None,
            count: ((self.bytes.len() - start) / (4 * shape.multiplicity())).into(),
            component_type: Valid(GenericComponentType(component)),
            type_: Valid(shape),
            min: None,
            max: None,
            name: None,
            normalized: false,
            sparse: None,
            extensions: None,
            extras: Default::default(),
        })
    }

    /// Takes `picture`, a PNG, in. Returns a rough material of its colours.
    fn material(&mut self, picture: &[u8]) -> Index<Material> {
        let view = self.view(picture.iter().copied(), None);
        let source = self.root.push(Image {
            buffer_view: Some(view),
            mime_type: Some(MimeType("image/png".to_owned())),
            name: Some("color".to_owned()),
            uri: None,
            extensions: None,
            extras: Default::default(),
        });
        let sampler = self.root.push(Sampler {
            mag_filter: Some(Valid(MagFilter::Linear)),
            min_filter: Some(Valid(MinFilter::Linear)),
            wrap_s: Valid(WrappingMode::ClampToEdge),
            wrap_t: Valid(WrappingMode::ClampToEdge),
            ..Default::default()
        });
        let (sampler, extras) = (Some(sampler), Default::default());
        let index = self.root.push(Texture { name: None, sampler, source, extensions: None, extras });
        self.root.push(Material {
            name: Some("ground".to_owned()),
            pbr_metallic_roughness: PbrMetallicRoughness {
                base_color_texture: Some(Info { index, tex_coord: 0, extensions: None, extras: Default::default() }),
                metallic_factor: StrengthFactor(0.0),
                roughness_factor: StrengthFactor(0.95),
                ..Default::default()
            },
            ..Default::default()
        })
    }

    /// Makes a scene of a mesh of these triangles.
    fn scene(&mut self, primitive: Primitive) {
        let (name, extras) = (|| Some("terrain".to_owned()), Default::default());
        let mesh = Mesh { name: name(), primitives: vec![primitive], weights: None, extensions: None, extras };
        let mesh = Some(self.root.push(mesh));
        let nodes = vec![self.root.push(Node { mesh, name: name(), ..Default::default() })];
        self.root.scene =
            Some(self.root.push(Scene { name: None, nodes, extensions: None, extras: Default::default() }));
    }

    /// Writes it as one binary file.
    fn write(mut self, path: &Path) -> Result<(), Error> {
        let (byte_length, extras) = (self.bytes.len().into(), Default::default());
        self.root.push(Buffer { byte_length, name: None, uri: None, extensions: None, extras });
        self.root.asset.generator = Some(concat!("Thalweg ", env!("CARGO_PKG_VERSION")).to_owned());
        output::create(path, |file| -> Result<(), gltf::Error> {
            let json = self.root.to_vec()?.into();
            // Its length is put in while it is written.
            let header = Header { magic: *b"glTF", version: 2, length: 0 };
            Glb { header, json, bin: Some(self.bytes.into()) }.to_writer(file)
        })
    }
}

/// Writes a binary glTF file: the ground with normals and `picture`, a PNG, as its colour.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_glb(path: &Path, terrain: &Terrain, picture: &[u8], progress: &Progress) -> Result<(), Error> {
    let (width, height) = (terrain.width(), terrain.height());
    let places = places(terrain);
    let mut document = Document { bytes: Vec::with_capacity(places.len() * 56 + picture.len()), ..Default::default() };
    let mut floats = |shape: Type, parts: &mut dyn Iterator<Item = f32>| {
        document.numbers(ComponentType::F32, shape, parts.map(f32::to_le_bytes))
    };
    let positions = floats(Type::Vec3, &mut places.iter().flatten().copied());
    let normals = analysis::normals(terrain).into_iter().flat_map(|[right, up, out]| [right, out, -up]);
    let normals = floats(Type::Vec3, &mut { normals });
    progress.done(1, 4);
    let share = |cell: usize, count: usize| (cell as f32 + 0.5) / count as f32;
    let texture = (0..places.len()).flat_map(|index| [share(index % width, width), share(index / width, height)]);
    let texture = floats(Type::Vec2, &mut { texture });
    let corners = triangles(width, height).flatten().map(u32::to_le_bytes);
    let indices = document.numbers(ComponentType::U32, Type::Scalar, corners);
    progress.done(2, 4);
    let fold = |start: f32, least: fn(f32, f32) -> f32| {
        places.iter().fold([start; 3], |all, place| std::array::from_fn(|axis| least(all[axis], place[axis])))
    };
    let accessor = &mut document.root.accessors[positions.value()];
    accessor.min = Some(json!(fold(f32::INFINITY, f32::min)));
    accessor.max = Some(json!(fold(f32::NEG_INFINITY, f32::max)));
    drop(places);
    let attributes =
        [(Semantic::Positions, positions), (Semantic::Normals, normals), (Semantic::TexCoords(0), texture)];
    let primitive = Primitive {
        attributes: attributes.into_iter().map(|(name, accessor)| (Valid(name), accessor)).collect(),
        indices: Some(indices),
        material: Some(document.material(picture)),
        mode: Valid(Mode::Triangles),
        targets: None,
        extensions: None,
        extras: Default::default(),
    };
    document.scene(primitive);
    progress.done(3, 4);
    document.write(path)
}

/// Writes a Wavefront OBJ file, with its material and `picture`, a PNG, beside it under the same stem.
///
/// # Errors
/// A file cannot be written.
pub(super) fn write_obj(path: &Path, terrain: &Terrain, picture: &[u8], progress: &Progress) -> Result<(), Error> {
    let (width, height) = (terrain.width(), terrain.height());
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    output::create(path, |file| -> io::Result<()> {
        writeln!(file, "mtllib {stem}.mtl\no terrain\nusemtl ground")?;
        for [x, y, z] in places(terrain) {
            writeln!(file, "v {x} {y} {z}")?;
        }
        progress.done(1, 4);
        for index in 0..width * height {
            let u = ((index % width) as f32 + 0.5) / width as f32;
            let v = 1.0 - ((index / width) as f32 + 0.5) / height as f32;
            writeln!(file, "vt {u} {v}")?;
        }
        for [right, up, out] in analysis::normals(terrain) {
            writeln!(file, "vn {right} {out} {}", -up)?;
        }
        progress.done(2, 4);
        for corners in triangles(width, height) {
            let [a, b, c] = corners.map(|corner| corner + 1);
            writeln!(file, "f {a}/{a}/{a} {b}/{b}/{b} {c}/{c}/{c}")?;
        }
        Ok(())
    })?;
    let material = format!("newmtl ground\nKd 1 1 1\nKs 0 0 0\nmap_Kd {stem}.png\n");
    output::write(&path.with_extension("mtl"), material)?;
    output::write(&path.with_extension("png"), picture)
}

/// Writes a binary STL file in millimetres: the ground, walls and a flat bottom, closed all round. Heights are to scale with
/// the sides.
///
/// # Errors
/// The map has fewer than two columns or rows, or the file cannot be written.
pub(super) fn write_stl(path: &Path, terrain: &Terrain, print: Print, progress: &Progress) -> Result<(), Error> {
    let (width, height) = (terrain.width(), terrain.height());
    if width < 2 || height < 2 {
        return Err(Error::output(path, "the map is a single line", "print one of two columns and rows at least"));
    }
    let ground = terrain.ground();
    let scale = print.width / ((width.max(height) - 1) as f32 * terrain.cell_size);
    let lowest = ground.min_max().0;
    // Right in the picture, up in it, and upwards.
    let top = |cell: usize| {
        let [x, y] = [cell % width, height - 1 - cell / width].map(|place| place as f32 * terrain.cell_size * scale);
        [x, y, print.base + (ground[cell] - lowest) * scale]
    };
    let foot = |cell: usize| {
        let [x, y, _] = top(cell);
        [x, y, 0.0]
    };
    let [right, up, _] = top(width - 1);
    let middle = [0.5 * right, 0.5 * up, 0.0];
    let rim = rim(&ground);
    let surface = 2 * (width - 1) * (height - 1);
    let count = surface + 3 * rim.len();
    let triangle = |index: usize| {
        progress.done(index, count);
        if index < surface {
            return facet(triangle(width, index).map(|cell| top(cell as usize)));
        }
        let (part, side) = ((index - surface) / 3, (index - surface) % 3);
        let (here, next) = (rim[part], rim[(part + 1) % rim.len()]);
        facet(match side {
            0 => [top(here), foot(here), top(next)],
            1 => [top(next), foot(here), foot(next)],
            _ => [foot(next), foot(here), middle],
        })
    };
    output::create(path, |file| stl_io::write_stl(file, (0..count).map(triangle)))
}

/// Cells of the border, in the order in which the surface's triangles leave it open: down the left, along the bottom, up the
/// right, back along the top.
fn rim(ground: &Grid) -> Vec<usize> {
    let (width, height) = (ground.width(), ground.height());
    let down = (0..height - 1).map(|y| y * width);
    let right = (0..width - 1).map(|x| (height - 1) * width + x);
    let up = (1..height).rev().map(|y| y * width + width - 1);
    let left = (1..width).rev();
    down.chain(right).chain(up).chain(left).collect()
}

/// A triangle with its normal.
fn facet(corners: [[f32; 3]; 3]) -> Triangle {
    let [a, b, c] = corners.map(Vec3::from);
    let normal = (b - a).cross(c - a).normalize_or_zero();
    Triangle { normal: Vertex::new(normal.into()), vertices: corners.map(Vertex::new) }
}
