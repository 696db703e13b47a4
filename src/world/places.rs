//! Places on the selected map that features mark over the view. The picture finds where they are seen.

use bevy::prelude::*;

/// Places on the selected map, as shares of its sides.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[require(ViewPlaces)]
pub struct MapPlaces(pub Vec<[f32; 2]>);

/// Systems that mark places. Each has marks of its own, so they may run in any order.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MarkSystems;

/// Where they are in the picture, as shares of the view; nowhere behind the eye.
#[derive(Component, Clone, Debug, Default, PartialEq)]
pub struct ViewPlaces(pub Vec<Option<Vec2>>);
