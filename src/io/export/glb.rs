//! The ground as a mesh in glTF, with normals and its colour map.

use std::path::Path;

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

use super::mesh::{places, triangles};
use crate::{
    io::{Error, Progress, output},
    sim::{analysis, terrain::Terrain},
};

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
