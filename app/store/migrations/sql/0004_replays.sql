-- Replays of dead letters (Q05).

-- what a replayed message gets
alter table fencepost.deliveries
  drop constraint deliveries_cause,
  add constraint deliveries_cause check (cause in
    ('first', 'lost_worker', 'released', 'unclaimed', 'wiped', 'expired', 'stopped', 'decided', 'replayed'));

create table fencepost.replays (
  dead_letter_id bigint primary key,        -- once a letter: whoever asks, and however often
  world_id text not null, kind text not null, activity_id text not null,  -- that is dead, or that the message spoke of
  batch text not null constraint replays_batch_length check (length(batch) between 1 and 200),
  actor text not null,
  reason text not null constraint replays_reason check (length(btrim(reason)) >= 10),
  attempt_id text,                          -- what came of it: another attempt, by the receipt of its tick,
  tick bigint,
  delivery bigint,                          -- or another delivery of the activity
  replayed_at timestamptz not null default clock_timestamp(),
  constraint replays_letter foreign key (dead_letter_id) references fencepost.dead_letters,
  constraint replays_activity foreign key (world_id, kind, activity_id) references fencepost.activities,
  constraint replays_actor foreign key (actor) references fencepost.principals,
  constraint replays_attempt foreign key (world_id, attempt_id) references fencepost.attempts,
  constraint replays_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred,
  constraint replays_delivery foreign key (world_id, kind, activity_id, delivery) references fencepost.deliveries,
  constraint replays_one_outcome check (num_nonnulls(attempt_id, delivery) = 1),
  constraint replays_attempt_by_tick check ((attempt_id is null) = (tick is null))
);
-- an attempt, a delivery comes of one letter
create unique index replays_attempt_once on fencepost.replays (world_id, attempt_id) where attempt_id is not null;
create unique index replays_delivery_once on fencepost.replays (world_id, kind, activity_id, delivery);
create index replays_by_batch on fencepost.replays (batch);
create trigger z_append_only before update or delete on fencepost.replays for each row execute function fencepost.refuse_change();
create trigger z_no_truncate before truncate on fencepost.replays for each statement execute function fencepost.refuse_change();

-- letters are listed newest first, by what they are filtered
create index dead_letters_by_cause on fencepost.dead_letters (cause, dead_letter_id);
create index dead_letters_by_world on fencepost.dead_letters (world_id, dead_letter_id);
create index dead_letters_by_kind on fencepost.dead_letters (coalesce(kind, queue), dead_letter_id);
create index dead_letters_by_age on fencepost.dead_letters (recorded_at);

grant select,
  insert (dead_letter_id, world_id, kind, activity_id, batch, actor, reason, attempt_id, tick, delivery)
  on fencepost.replays to fencepost_app;
