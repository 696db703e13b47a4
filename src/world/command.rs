//! Commands from panels, shortcuts, menus and notifications. A feature declares its commands as events, and observes them.

use std::{any::Any, fmt, sync::Arc};

use bevy::{
    ecs::{event::GlobalTrigger, message::MessageCursor},
    prelude::*,
};

use super::{Jobs, NoticeLevel, Notices, Presentation, Restarts, Simulations, card, restart};

/// Command of a feature. Sent as an [`AppCommand`], it is rejected where it is not applicable; a system that triggers the event
/// directly skips these checks.
pub trait AppCommandEvent: for<'a> Event<Trigger<'a> = GlobalTrigger> + Clone + fmt::Debug + PartialEq {
    /// Returns `true` if it changes, replaces or saves the project. It is rejected while a job holds the project.
    fn requires_project(&self) -> bool {
        false
    }

    /// Returns `true` if it restarts the simulations with generated terrain. Other commands that require the project wait for that
    /// terrain.
    fn restarts(&self) -> bool {
        false
    }

    /// Returns `true` if strokes made before it must be completed first. This extends to commands it sends.
    fn flushes_strokes(&self) -> bool {
        self.requires_project()
    }

    /// Returns `true` if it is allowed in a kiosk, where visitors interact with a scene but cannot open files, panels or other
    /// terrain.
    fn is_allowed_in_kiosk(&self, _: &Simulations) -> bool {
        false
    }

    /// Returns `true` if it may be sent by a shortcut in the presenter's window.
    fn is_allowed_in_presenter(&self) -> bool {
        false
    }

    /// Returns `true` if it repeats while its key is held.
    fn repeats_while_held(&self) -> bool {
        false
    }
}

/// Command of any feature. Commands are executed in [`FrameSystems::Execute`](super::FrameSystems::Execute), in the order in which they
/// were sent.
#[derive(Message, Clone)]
pub struct AppCommand(Arc<dyn ErasedAppCommand>);

/// Type-erased [`AppCommandEvent`].
trait ErasedAppCommand: Any + Send + Sync + fmt::Debug {
    fn trigger(&self, world: &mut World);
    fn equals(&self, other: &dyn Any) -> bool;
    fn requires_project(&self) -> bool;
    fn restarts(&self) -> bool;
    fn flushes_strokes(&self) -> bool;
    fn is_allowed_in_kiosk(&self, simulations: &Simulations) -> bool;
    fn is_allowed_in_presenter(&self) -> bool;
    fn repeats_while_held(&self) -> bool;
}

impl<C: AppCommandEvent> ErasedAppCommand for C {
    fn trigger(&self, world: &mut World) {
        world.trigger(self.clone());
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref() == Some(self)
    }

    fn requires_project(&self) -> bool {
        AppCommandEvent::requires_project(self)
    }

    fn restarts(&self) -> bool {
        AppCommandEvent::restarts(self)
    }

    fn flushes_strokes(&self) -> bool {
        AppCommandEvent::flushes_strokes(self)
    }

    fn is_allowed_in_kiosk(&self, simulations: &Simulations) -> bool {
        AppCommandEvent::is_allowed_in_kiosk(self, simulations)
    }

    fn is_allowed_in_presenter(&self) -> bool {
        AppCommandEvent::is_allowed_in_presenter(self)
    }

    fn repeats_while_held(&self) -> bool {
        AppCommandEvent::repeats_while_held(self)
    }
}

impl AppCommand {
    /// Returns the command if it has this type.
    pub fn get<C: AppCommandEvent>(&self) -> Option<&C> {
        let any: &dyn Any = &*self.0;
        any.downcast_ref()
    }

    /// See [`AppCommandEvent::restarts`].
    pub fn restarts(&self) -> bool {
        self.0.restarts()
    }

    /// See [`AppCommandEvent::flushes_strokes`].
    pub fn flushes_strokes(&self) -> bool {
        self.0.flushes_strokes()
    }

    /// See [`AppCommandEvent::is_allowed_in_kiosk`].
    pub fn is_allowed_in_kiosk(&self, simulations: &Simulations) -> bool {
        self.0.is_allowed_in_kiosk(simulations)
    }

    /// See [`AppCommandEvent::is_allowed_in_presenter`].
    pub fn is_allowed_in_presenter(&self) -> bool {
        self.0.is_allowed_in_presenter()
    }

    /// See [`AppCommandEvent::repeats_while_held`].
    pub fn repeats_while_held(&self) -> bool {
        self.0.repeats_while_held()
    }
}

impl<C: AppCommandEvent> From<C> for AppCommand {
    fn from(command: C) -> Self {
        Self(Arc::new(command))
    }
}

impl PartialEq for AppCommand {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl<C: AppCommandEvent> PartialEq<C> for AppCommand {
    fn eq(&self, other: &C) -> bool {
        self.get() == Some(other)
    }
}

impl fmt::Debug for AppCommand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Executes the commands that were sent, and those that they send.
pub(super) fn execute_commands(world: &mut World, mut asked: Local<MessageCursor<AppCommand>>) {
    loop {
        let commands: Vec<AppCommand> = asked.read(world.resource::<Messages<AppCommand>>()).cloned().collect();
        if commands.is_empty() {
            return;
        }
        for command in commands {
            execute_command(&command, world);
        }
    }
}

fn execute_command(command: &AppCommand, world: &mut World) {
    let simulations = world.resource::<Simulations>();
    if world.get_resource::<Presentation>().is_some_and(Presentation::is_kiosk)
        && !command.is_allowed_in_kiosk(simulations)
    {
        return;
    }
    if let Some(held) = world.resource::<Jobs>().locked.as_ref().filter(|_| command.0.requires_project()) {
        let text = format!("{}. Wait for it to finish, or cancel it.", held.description);
        world.resource_mut::<Notices>().notify(NoticeLevel::Info, text);
        return;
    }
    if command.0.requires_project() {
        card::bring_back(world);
    }
    if command.0.requires_project()
        && !command.0.restarts()
        && world.get_resource::<Restarts>().is_some_and(Restarts::is_active)
    {
        world.run_system_cached(restart::complete).expect("its parameters are there");
    }
    command.0.trigger(world);
    world.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Event, Clone, Debug, PartialEq)]
    struct Count(u32);

    #[derive(Event, Clone, Debug, PartialEq)]
    struct Rest;

    impl AppCommandEvent for Count {}
    impl AppCommandEvent for Rest {}

    #[derive(Resource, Default)]
    struct Counted(Vec<u32>);

    #[test]
    fn nested_commands_execute_after_queued_ones() {
        let mut app = App::new();
        app.add_message::<AppCommand>()
            .init_resource::<Counted>()
            .init_resource::<Jobs>()
            .init_resource::<Notices>()
            .insert_resource(Simulations::new(vec![thalweg_scene::model::session::Session::placeholder(
                "alone",
                1,
                thalweg_scene::model::origin::Origin::default(),
            )]))
            .add_observer(|count: On<Count>, mut counted: ResMut<Counted>, mut asked: MessageWriter<AppCommand>| {
                counted.0.push(count.0);
                if count.0 < 3 {
                    asked.write(Count(count.0 + 10).into());
                }
            })
            .add_systems(Update, execute_commands);
        for number in 1..=3 {
            app.world_mut().write_message(AppCommand::from(Count(number)));
        }
        app.update();
        app.update();
        assert_eq!(app.world().resource::<Counted>().0, [1, 2, 3, 11, 12]);
    }

    #[test]
    fn commands_compare_by_type_and_value() {
        let [one, same, other, rest] = [Count(1).into(), Count(1).into(), Count(2).into(), AppCommand::from(Rest)];
        assert!(one == same && one == Count(1) && one != other && one != Count(2));
        assert!(one != rest && one != Rest && rest == Rest && one.get::<Rest>().is_none());
    }
}
