-- Bounds on what runs at once (O08): who writes on a base, and which steps wait for a place.

-- an attempt whose author step has begun, until its request is merged or closed, or it ends without one
create table fencepost.writers (
  world_id text not null,
  attempt_id text not null,
  repository_id text not null,
  base text not null,                       -- the branch that its request goes into
  bound integer not null constraint writers_bound check (bound >= 1),  -- writers that it suffers, itself included
  tick bigint not null,
  request integer,                          -- the number of its open request
  left_tick bigint,
  left_sha text,                            -- the base's commit when its request was seen closed or merged
  left_because text constraint writers_left_because check (left_because in ('ended', 'closed', 'merged')),
  primary key (world_id, attempt_id),
  constraint writers_attempt foreign key (world_id, attempt_id) references fencepost.attempts,
  constraint writers_repository foreign key (world_id, repository_id) references fencepost.repositories,
  constraint writers_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred,
  constraint writers_left_receipt foreign key (world_id, left_tick) references fencepost.receipts deferrable initially deferred,
  constraint writers_left check ((left_tick is null) = (left_because is null)),
  constraint writers_left_sha check (left_sha ~ '^[0-9a-f]{40,64}$')
);
create index writers_here on fencepost.writers (world_id, repository_id, base) where left_tick is null;
create trigger z_no_delete before delete on fencepost.writers for each row execute function fencepost.refuse_change();
create trigger z_no_truncate before truncate on fencepost.writers for each statement execute function fencepost.refuse_change();

alter table fencepost.steps
  add column waits_for text constraint steps_waits_for check (waits_for in ('world', 'repository', 'merge')),
  add column waits_at text,                 -- the repository, and after a space the base, where the bound is theirs
  add column waits_since timestamptz,
  add constraint steps_waits check ((waits_for is null) = (waits_since is null) and (waits_for is null) = (waits_at is null)),
  add constraint steps_wait_while_pending check (waits_for is null or state = 'pending');
create index steps_waiting on fencepost.steps (world_id, waits_for, waits_at, waits_since) where waits_for is not null;
-- what a world has at work
create index steps_at_work on fencepost.steps (world_id, attempt_id) where state = 'dispatched' and kind <> 'gate';

grant select, insert, update (request, left_tick, left_because, left_sha) on fencepost.writers to fencepost_app;
grant update (waits_for, waits_at, waits_since) on fencepost.steps to fencepost_app;
