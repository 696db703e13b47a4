//! A wave of droplets in progress: it can pause between droplets so that a frame can be drawn.
//!
//! Its changes stay in copies of tiles until all droplets have ended. Its laws are fixed at its start, even if the parameters
//! change.

use std::time::Instant;

use super::{
    DropletLaw, DropletStart, Params,
    bundle::{self, Droplet, Outcome},
    constants::Constants,
    copies::Copies,
    corrected::CorrectedLaw,
    discharge::Discharge,
    ground::DropletGround,
    published::{CapacityLaw, DropletState, MassTransfer},
    published_wave::{self, DriveTile, PublishedDroplet, PublishedOutcome},
    streams::{StreamLaw, Streams},
    tracks::TrackRecorder,
};
use crate::{
    core::{terrain::Terrain, tiles::TileCache},
    process::masked::{Mask, MaskedParams},
    simd::{lanes::Lanes, swarm::SwarmRun},
};

/// A wave in progress.
#[derive(Clone)]
pub(super) struct RunningWave {
    /// Parameters at the start of the wave.
    pub(super) params: Params,
    /// Sediment supplied by its droplets, in metres times cells.
    pub(super) supplied: f64,
    /// Upper limit of deposition, in metres.
    pub(super) highest: f32,
    /// Tracks of the watched droplets.
    pub(super) tracks: Option<TrackRecorder>,
    /// Its droplets.
    pub(super) droplets: WaveDroplets,
}

/// Droplets of a wave, and the tiles that they have visited.
pub(super) enum WaveDroplets {
    /// Streams and the corrected form of the other laws, with the mask if it has an effect.
    OnCopies { laws: Box<WaveLaws>, mask: Option<Mask>, copies: Copies, swarm: SwarmRun<Droplet, Outcome> },
    /// The published form of the other laws.
    Published { law: PublishedLaw, tiles: TileCache<DriveTile>, swarm: SwarmRun<PublishedDroplet, PublishedOutcome> },
}

impl Clone for WaveDroplets {
    /// Includes all tiles, since they differ from the layers.
    fn clone(&self) -> Self {
        match self {
            Self::OnCopies { laws, mask, copies, swarm } => {
                let (laws, mask, copies) = (laws.clone(), mask.clone(), copies.with_tiles());
                Self::OnCopies { laws, mask, copies, swarm: swarm.clone() }
            }
            Self::Published { law, tiles, swarm } => {
                // SAFETY: a wave borrows the tiles mutably while it writes them.
                Self::Published { law: *law, tiles: unsafe { tiles.copied() }, swarm: swarm.clone() }
            }
        }
    }
}

/// Constants of a law without and with the mask.
#[derive(Clone, Copy)]
pub(super) enum WaveLaws {
    Streams([StreamLaw; 2]),
    Corrected([Constants; 2]),
}

/// A published law.
#[derive(Clone, Copy)]
pub(super) enum PublishedLaw {
    MassTransfer(MassTransfer<Lanes>),
    Capacity(CapacityLaw<Lanes>),
}

impl RunningWave {
    /// Returns the initial water of a droplet, in the unit of its law.
    pub(super) fn volume(params: &Params) -> f32 {
        if params.law == DropletLaw::Capacity { params.start_water } else { 1.0 }
    }

    /// Returns a wave on copies; `contributing_area` is that of each droplet, in square metres.
    pub(super) fn on_copies(
        terrain: &Terrain,
        starts: &[DropletStart],
        (params, contributing_area): (&Params, f32),
        masked: Option<MaskedParams<Params>>,
        (mut copies, peak): (Copies, f32),
        tracks: Option<TrackRecorder>,
    ) -> Self {
        // Sediment from springs may raise the land slightly in each wave.
        let supplied: f64 = starts.iter().map(|start| f64::from(start.load)).sum();
        let highest = peak + if supplied > 0.0 { terrain.cell_size } else { 0.0 };
        let both = [params, masked.as_ref().map_or(params, |masked| &masked.params)];
        let laws = match params.law {
            DropletLaw::Streams => {
                WaveLaws::Streams(both.map(|params| StreamLaw::new(params, terrain, contributing_area)))
            }
            _ => WaveLaws::Corrected(both.map(|params| Constants::new(params, terrain))),
        };
        copies.begin(terrain);
        let droplets = starts.iter().map(|start| start.droplet(Self::volume(params))).collect();
        let swarm =
            bundle::begin(&DropletGround::new(terrain, &mut copies, highest, params.mode), droplets, tracks.as_ref());
        let mask = masked.map(|masked| masked.mask);
        let droplets = WaveDroplets::OnCopies { laws: Box::new(laws), mask, copies, swarm };
        Self { params: params.clone(), supplied, highest, tracks, droplets }
    }

    /// Returns a wave of a published law, with these tiles.
    pub(super) fn published(
        terrain: &Terrain,
        starts: &[DropletStart],
        (params, longest): (&Params, f32),
        (mut tiles, highest): (TileCache<DriveTile>, f32),
        tracks: Option<TrackRecorder>,
    ) -> Self {
        let law = match params.law {
            DropletLaw::Capacity => PublishedLaw::Capacity(CapacityLaw::new(params, terrain.cell_size)),
            _ => {
                let params = Params { dt: params.dt.min(longest), ..params.clone() };
                PublishedLaw::MassTransfer(MassTransfer::new(&params))
            }
        };
        let (right, bottom) = ((terrain.width() - 1) as f32, (terrain.height() - 1) as f32);
        // A droplet that starts in the outermost ring leaves before its first step.
        let droplets: Vec<DropletState<f32>> = starts
            .iter()
            .map(|DropletStart { place: [x, y], .. }| (x.floor(), y.floor()))
            .filter(|&(x, y)| x >= 1.0 && y >= 1.0 && x < right && y < bottom)
            .map(|(x, y)| DropletState::at(x + 0.5, y + 0.5, Self::volume(params)))
            .collect();
        let swarm = published_wave::begin(terrain, droplets, &mut tiles, tracks.as_ref());
        let droplets = WaveDroplets::Published { law, tiles, swarm };
        Self { params: params.clone(), supplied: 0.0, highest, tracks, droplets }
    }

    /// Returns `true` if its droplets follow the streams law.
    pub(super) fn streams(&self) -> bool {
        self.params.law == DropletLaw::Streams
    }

    /// Runs the wave for a while, see [`SwarmRun::run_until`]. Returns `true` if all droplets have ended.
    pub(super) fn advance(&mut self, terrain: &Terrain, discharge: &mut Discharge, until: Option<Instant>) -> bool {
        let (highest, tracks) = (self.highest, self.tracks.as_ref());
        match &mut self.droplets {
            WaveDroplets::OnCopies { laws, mask, copies, swarm } => {
                let mut ground = DropletGround::new(terrain, copies, highest, self.params.mode);
                let mask = mask.as_ref();
                match **laws {
                    WaveLaws::Streams(laws) => {
                        bundle::advance(&mut Streams::new(&mut ground, discharge, laws, mask), swarm, tracks, until)
                    }
                    WaveLaws::Corrected(laws) => {
                        bundle::advance(&mut CorrectedLaw::new(&mut ground, laws, mask), swarm, tracks, until)
                    }
                }
            }
            WaveDroplets::Published { law, tiles, swarm } => match law {
                PublishedLaw::MassTransfer(law) => {
                    published_wave::advance(terrain, highest, law, swarm, tiles, tracks, until)
                }
                PublishedLaw::Capacity(law) => {
                    published_wave::advance(terrain, highest, law, swarm, tiles, tracks, until)
                }
            },
        }
    }
}
