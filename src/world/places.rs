//! Points on the selected map that features mark in the viewport, and their projection.

use bevy::prelude::*;

/// Points on the selected map, in fractions of its sides.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[require(ViewPlaces)]
pub struct MapPlaces(pub Vec<[f32; 2]>);

/// Systems that mark points. Each has its own markers, so they may run in any order.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MarkSystems;

/// Projected points, in fractions of the viewport; `None` behind the camera.
#[derive(Component, Clone, Debug, Default, PartialEq)]
pub struct ViewPlaces(pub Vec<Option<Vec2>>);
