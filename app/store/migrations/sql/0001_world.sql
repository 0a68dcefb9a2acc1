-- The world: what was decided, by whom, and what is known. Every key of world data begins with
-- world_id. A tick locks its world's row and leaves one receipt (L10).

create table fencepost.installation (
  only_one boolean primary key default true constraint installation_is_one check (only_one),
  installation_id text not null,            -- names the wiped-marker in Redis
  created_at timestamptz not null default clock_timestamp()
);
insert into fencepost.installation (installation_id) values (replace(gen_random_uuid()::text, '-', ''));

create table fencepost.principals (
  principal_id text primary key,
  name text not null constraint principals_name_once unique,
  scopes text[] not null constraint principals_scopes check (scopes <@ '{viewer,operator,approver,admin}'),
  worlds text[],                            -- to which it is bound; null: every world
  token_hash bytea constraint principals_hash_is_sha256 check (length(token_hash) = 32)
    constraint principals_hash_once unique,
  created_at timestamptz not null default clock_timestamp(),
  revoked_at timestamptz,
  constraint principals_revoked check (revoked_at is null or token_hash is not null)
);
insert into fencepost.principals (principal_id, name, scopes) values
  -- at the command line the owner of FENCEPOST_HOME acts as this one
  ('local', 'local', '{viewer,operator,approver,admin}'),
  -- ticks that nobody asked for: results observed, processors deciding
  ('dispatcher', 'dispatcher', '{}');

-- Who holds this token; the hash stays in here, no login reads it (S01).
create function fencepost.authenticate(token text) returns table (principal_id text, name text, scopes text[], worlds text[])
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select p.principal_id, p.name, p.scopes, p.worlds from fencepost.principals p
   where p.token_hash = pg_catalog.sha256(pg_catalog.convert_to(token, 'UTF8')) and p.revoked_at is null
$$;

create table fencepost.worlds (
  world_id text primary key,                -- random: two installations on one remote never meet
  name text not null constraint worlds_name_once unique,
  tick bigint not null default 0,
  entity_sequence bigint not null default 0,
  receipt_digest bytea,                     -- of the newest receipt; the next one names it (S04)
  settings bytea not null default '{}',     -- canonical
  created_at timestamptz not null default clock_timestamp(),
  constraint worlds_first_receipt check ((tick = 0) = (receipt_digest is null))
);

create table fencepost.receipts (
  world_id text not null constraint receipts_world references fencepost.worlds,
  tick bigint not null constraint receipts_count_from_one check (tick >= 1),
  verb text not null,
  actor text not null constraint receipts_actor references fencepost.principals,
  bytes bytea not null,
  digest bytea not null,
  previous bytea,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, tick),
  constraint receipts_digest check (digest = sha256(bytes)),
  constraint receipts_chain check ((tick = 1) = (previous is null))
);

-- checked before anything is made: the same key and request get the first answer (T06)
create table fencepost.idempotency_keys (
  world_id text not null,
  key text not null constraint idempotency_keys_length check (length(key) between 1 and 200),
  request_digest bytea not null,
  answer bytea not null,
  tick bigint not null,
  primary key (world_id, key),
  constraint idempotency_keys_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred
);

create table fencepost.entities (
  world_id text not null,
  entity_id bigint not null,
  tick bigint not null,
  primary key (world_id, entity_id),
  constraint entities_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred
);

create table fencepost.facts (
  world_id text not null,
  entity_id bigint not null,
  component text not null,
  version integer not null,                 -- of the component's schema
  tick bigint not null,
  value bytea not null,
  digest bytea not null,
  primary key (world_id, entity_id, component, tick),
  constraint facts_entity foreign key (world_id, entity_id) references fencepost.entities,
  constraint facts_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred,
  constraint facts_digest check (digest = sha256(value))
);
create index facts_by_tick on fencepost.facts (world_id, tick);

create table fencepost.relations (
  world_id text not null,
  source bigint not null,
  relation text not null,
  target bigint not null,
  tick bigint not null,
  primary key (world_id, source, relation, target),
  constraint relations_source foreign key (world_id, source) references fencepost.entities (world_id, entity_id),
  constraint relations_target foreign key (world_id, target) references fencepost.entities (world_id, entity_id),
  constraint relations_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred
);
create index relations_by_tick on fencepost.relations (world_id, tick);
create index relations_by_target on fencepost.relations (world_id, target, relation);

create table fencepost.projector_cursors (
  world_id text not null constraint projector_cursors_world references fencepost.worlds,
  projector text not null,
  tick bigint not null,                     -- the newest receipt that was projected
  primary key (world_id, projector)
);

create table fencepost.repositories (
  world_id text not null constraint repositories_world references fencepost.worlds,
  repository_id text not null,
  name text not null,
  url text not null,
  forge text not null,
  tick bigint not null,
  primary key (world_id, repository_id),
  constraint repositories_once unique (world_id, url),
  constraint repositories_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred
);

create table fencepost.work_orders (
  world_id text not null,
  work_order_id text not null,
  repository_id text not null,
  title text not null,
  bytes bytea not null,                     -- the specification, canonical
  digest bytea not null,
  state text not null constraint work_orders_state
    check (state in ('draft', 'submitted', 'approved', 'rejected', 'active', 'completed', 'canceled')),
  author text not null constraint work_orders_author references fencepost.principals,  -- of the latest revision
  second_person boolean not null,           -- its author may not approve it (S05)
  approved_digest bytea,                    -- what runs is bound to what was approved
  approved_by text constraint work_orders_approved_by references fencepost.principals,
  entity_id bigint not null,                -- its facts are its revisions
  tick bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (world_id, work_order_id),
  constraint work_orders_repository foreign key (world_id, repository_id) references fencepost.repositories,
  constraint work_orders_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred,
  constraint work_orders_digest check (digest = sha256(bytes)),
  constraint work_orders_entity_once unique (world_id, entity_id),
  constraint work_orders_entity foreign key (world_id, entity_id) references fencepost.entities deferrable initially deferred,
  constraint work_orders_approved
    check (state not in ('approved', 'active', 'completed') or (approved_digest is not null and approved_digest = digest)),
  constraint work_orders_approval check ((approved_digest is null) = (approved_by is null)),
  constraint work_orders_second_person check (not second_person or approved_by is null or approved_by <> author)
);

create table fencepost.tasks (
  world_id text not null,
  task_id text not null,
  work_order_id text not null,
  parent_id text,
  canonical boolean not null default false,
  entity_id bigint not null,
  board_column text not null constraint tasks_column
    check (board_column in ('inbox', 'ready', 'in_progress', 'review', 'done', 'canceled')),
  title text not null,
  tick bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (world_id, task_id),
  constraint tasks_entity_once unique (world_id, entity_id),
  constraint tasks_of_work_order unique (world_id, task_id, work_order_id),
  constraint tasks_work_order foreign key (world_id, work_order_id) references fencepost.work_orders,
  -- a child belongs to its parent's work order
  constraint tasks_parent foreign key (world_id, parent_id, work_order_id)
    references fencepost.tasks (world_id, task_id, work_order_id),
  constraint tasks_entity foreign key (world_id, entity_id) references fencepost.entities deferrable initially deferred,
  constraint tasks_canonical_is_a_child check (not canonical or parent_id is not null)
);
create unique index tasks_one_canonical_child on fencepost.tasks (world_id, parent_id) where canonical;
create index tasks_by_parent on fencepost.tasks (world_id, parent_id) where parent_id is not null;
-- tells a task of another world from none at all
create index tasks_by_id on fencepost.tasks (task_id);

create table fencepost.attempts (
  world_id text not null,
  attempt_id text not null,
  task_id text not null,
  number integer not null constraint attempts_count_from_one check (number >= 1),
  retry integer not null constraint attempts_retry check (retry = number - 1),
  workflow bytea not null,                  -- the snapshot that this attempt runs (O03)
  workflow_digest bytea not null,
  actor text not null constraint attempts_actor references fencepost.principals,
  reason text,
  tick bigint not null,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  outcome text constraint attempts_outcome
    check (outcome in ('done', 'unchanged', 'failed', 'canceled', 'dead', 'abandoned')),
  primary key (world_id, attempt_id),
  constraint attempts_number_once unique (world_id, task_id, number),
  constraint attempts_task foreign key (world_id, task_id) references fencepost.tasks,
  constraint attempts_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred,
  constraint attempts_workflow check (workflow_digest = sha256(workflow)),
  constraint attempts_end check ((ended_at is null) = (outcome is null))
);
-- the database, not a look beforehand, allows one active attempt per task (T05)
create unique index attempts_one_active on fencepost.attempts (world_id, task_id) where ended_at is null;

create table fencepost.steps (
  world_id text not null,
  attempt_id text not null,
  name text not null,
  position integer not null,
  kind text not null,
  activity_id text,                         -- set by the tick that dispatches the step
  state text not null default 'pending' constraint steps_state
    check (state in ('pending', 'dispatched', 'succeeded', 'failed', 'blocked', 'skipped', 'canceled')),
  outcome text constraint steps_outcome
    check (outcome in ('green', 'unchanged', 'failed', 'canceled', 'dead', 'abandoned')),
  outputs bytea,                            -- canonical; what conditions may ask
  primary key (world_id, attempt_id, name),
  constraint steps_position_once unique (world_id, attempt_id, position),
  constraint steps_attempt foreign key (world_id, attempt_id) references fencepost.attempts,
  constraint steps_dispatched
    check (kind = 'gate' or state not in ('dispatched', 'succeeded') or activity_id is not null)
);
-- a step that waits for a person, for days and without a worker (O12)
create table fencepost.gates (
  world_id text not null,
  attempt_id text not null,
  step text not null,
  tick bigint not null,
  opened_at timestamptz not null default clock_timestamp(),
  decided_at timestamptz,
  decision text constraint gates_decision check (decision in ('approved', 'rejected', 'canceled')),
  decided_by text constraint gates_decided_by references fencepost.principals,
  reason text,
  primary key (world_id, attempt_id, step),
  constraint gates_step foreign key (world_id, attempt_id, step) references fencepost.steps (world_id, attempt_id, name),
  constraint gates_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred,
  constraint gates_end check ((decided_at is null) = (decision is null))
);

create unique index steps_by_activity on fencepost.steps (world_id, kind, activity_id) where activity_id is not null;
