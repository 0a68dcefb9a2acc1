-- The activities: one external piece of work each, the claims on it, the evidence of what was done,
-- and how it ended. `activities` changes only when authority changes; renewals touch `claims` alone.

create table fencepost.activities (
  world_id text not null constraint activities_world references fencepost.worlds,
  kind text not null,
  activity_id text not null,
  attempt_id text not null,
  request bytea not null,
  request_digest bytea not null,
  tick bigint not null,                     -- the receipt it was projected from
  lease interval not null constraint activities_lease check (lease between interval '1 second' and interval '1 hour'),
  most_starts integer not null constraint activities_most_starts check (most_starts >= 1),
  fence bigint not null default 0,
  stop text constraint activities_stop check (stop in ('cancel', 'abandon', 'close_only')),
  admitted_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id),
  constraint activities_attempt foreign key (world_id, attempt_id) references fencepost.attempts,
  constraint activities_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred,
  constraint activities_digest check (request_digest = sha256(request))
);
create index activities_by_attempt on fencepost.activities (world_id, attempt_id);

create table fencepost.claims (
  world_id text not null,
  kind text not null,
  activity_id text not null,
  fence bigint not null constraint claims_count_from_one check (fence >= 1),
  token_hash bytea not null constraint claims_hash_is_sha256 check (length(token_hash) = 32),
  worker text not null,
  delivery bigint,                          -- null: the control plane's own claim
  claimed_at timestamptz not null default clock_timestamp(),
  lease_until timestamptz not null,
  ended timestamptz,
  end_cause text constraint claims_end_cause
    check (end_cause in ('expired', 'released', 'held', 'recorded')),
  end_detail text,
  retry_at timestamptz,
  primary key (world_id, kind, activity_id, fence),
  constraint claims_activity foreign key (world_id, kind, activity_id) references fencepost.activities,
  constraint claims_end check ((ended is null) = (end_cause is null))
) with (fillfactor = 70);
-- one open claim per activity; the reaper scans it. No index on lease_until: renewals stay HOT
create unique index claims_one_open on fencepost.claims (world_id, kind, activity_id) where ended is null;

create table fencepost.deliveries (
  world_id text not null,
  kind text not null,
  activity_id text not null,
  number bigint not null constraint deliveries_count_from_one check (number >= 1),
  cause text not null constraint deliveries_cause
    check (cause in ('first', 'lost_worker', 'released', 'unclaimed', 'wiped', 'expired', 'stopped', 'decided')),
  priority integer not null default 5,
  not_before timestamptz not null default clock_timestamp(),
  deadline timestamptz not null,
  created_at timestamptz not null default clock_timestamp(),
  published_at timestamptz,
  claimed_fence bigint,
  replaced_at timestamptz,
  primary key (world_id, kind, activity_id, number),
  constraint deliveries_activity foreign key (world_id, kind, activity_id) references fencepost.activities,
  constraint deliveries_one_fate check (claimed_fence is null or replaced_at is null)
);
create index deliveries_waiting on fencepost.deliveries (kind, priority, not_before)
  where published_at is null and claimed_fence is null and replaced_at is null;
-- one delivery of an activity at a time is under way
create unique index deliveries_one_open on fencepost.deliveries (world_id, kind, activity_id)
  where claimed_fence is null and replaced_at is null;

-- Written by workers, under the fence. Each carries the key, the fence, and the time of the trigger.

create table fencepost.bindings (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  operation_id text not null,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id),
  constraint bindings_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims
);

create table fencepost.starts (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  sha text not null constraint starts_sha check (sha ~ '^[0-9a-f]{40,64}$'),
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id, fence),
  constraint starts_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims
);

create table fencepost.effect_calls (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  n integer not null,
  call text not null,
  request bytea not null constraint effect_calls_size check (octet_length(request) <= 1048576),
  digest bytea not null,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id, fence, n),
  constraint effect_calls_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims,
  constraint effect_calls_digest check (digest = sha256(request))
);

create table fencepost.effect_answers (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  call_fence bigint not null,
  n integer not null,
  outcome text not null constraint effect_answers_outcome
    check (outcome in ('created', 'refused', 'failed', 'adopted')),
  evidence bytea not null constraint effect_answers_size check (octet_length(evidence) <= 1048576),
  digest bytea not null,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id, call_fence, n),
  constraint effect_answers_call foreign key (world_id, kind, activity_id, call_fence, n) references fencepost.effect_calls,
  constraint effect_answers_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims,
  constraint effect_answers_digest check (digest = sha256(evidence))
);

create table fencepost.events (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  n integer not null,
  attempt_id text not null,                 -- of b_sequence, like the next
  sequence bigint not null,                 -- one after another over all that tell of the attempt (O04)
  type text not null constraint events_type
    check (type in ('start', 'step', 'tool', 'command', 'file', 'artifact', 'checkpoint', 'retry', 'human',
                    'pause', 'resume', 'failure', 'completion', 'cancellation', 'output')),
  key text constraint events_key_length check (length(key) between 1 and 200),
  value bytea not null constraint events_size check (octet_length(value) <= 262144),
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id, fence, n),
  constraint events_sequence_once unique (world_id, attempt_id, sequence),
  constraint events_attempt foreign key (world_id, attempt_id) references fencepost.attempts,
  constraint events_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims
);
create unique index events_key_once on fencepost.events (world_id, attempt_id, key) where key is not null;

create table fencepost.artifacts (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  name text not null,
  attempt_id text not null,                 -- of b_sequence
  media_type text not null,
  key text constraint artifacts_key_length check (length(key) between 1 and 200),
  bytes bytea not null constraint artifacts_size check (octet_length(bytes) <= 4194304),
  digest bytea not null,
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id, fence, name),
  constraint artifacts_attempt foreign key (world_id, attempt_id) references fencepost.attempts,
  constraint artifacts_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims,
  constraint artifacts_digest check (digest = sha256(bytes))
);
create index artifacts_by_attempt on fencepost.artifacts (world_id, attempt_id);
create unique index artifacts_key_once on fencepost.artifacts (world_id, attempt_id, key) where key is not null;

create table fencepost.payloads (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  digest bytea not null,
  bytes bytea not null constraint payloads_size check (octet_length(bytes) <= 4194304),
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, digest),
  constraint payloads_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims,
  constraint payloads_digest check (digest = sha256(bytes))
);

create table fencepost.results (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  digest bytea not null,
  outcome text not null constraint results_outcome
    check (outcome in ('green', 'unchanged', 'failed', 'canceled', 'dead', 'abandoned')),
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id),
  constraint results_digest_once unique (world_id, kind, activity_id, digest),
  constraint results_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims,
  constraint results_payload foreign key (world_id, digest) references fencepost.payloads
);

-- Written by the functions and the control plane.

create table fencepost.unknowns (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  code text not null,
  detail text not null,
  opened_at timestamptz not null default clock_timestamp(),
  decided_at timestamptz,
  decision text,
  decided_by text constraint unknowns_decided_by references fencepost.principals,
  reason text,
  primary key (world_id, kind, activity_id, fence),
  constraint unknowns_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims,
  constraint unknowns_decision check ((decided_at is null) = (decision is null))
);
create unique index unknowns_one_open on fencepost.unknowns (world_id, kind, activity_id) where decided_at is null;

-- one end per activity; the row comes with the result, in the same statement
create table fencepost.ends (
  world_id text not null, kind text not null, activity_id text not null, fence bigint not null,
  outcome text not null,
  ended_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id),
  constraint ends_result foreign key (world_id, kind, activity_id) references fencepost.results,
  constraint ends_claim foreign key (world_id, kind, activity_id, fence) references fencepost.claims
);

create table fencepost.staged_batches (
  world_id text not null, kind text not null, activity_id text not null,
  result_digest bytea not null,
  bytes bytea not null,
  digest bytea not null,
  staged_at timestamptz not null default clock_timestamp(),
  consumed_tick bigint,
  -- the identity stays after the batch is consumed, so that restaging is a no-op
  primary key (world_id, kind, activity_id, result_digest),
  constraint staged_result foreign key (world_id, kind, activity_id, result_digest)
    references fencepost.results (world_id, kind, activity_id, digest),
  constraint staged_receipt foreign key (world_id, consumed_tick) references fencepost.receipts (world_id, tick) deferrable initially deferred,
  constraint staged_digest check (digest = sha256(bytes))
);
create index staged_waiting on fencepost.staged_batches (world_id, staged_at) where consumed_tick is null;

create table fencepost.settlements (
  world_id text not null, kind text not null, activity_id text not null,
  result_digest bytea not null,
  tick bigint not null,                     -- the receipt whose marker binds the facts to the result
  marker_digest bytea not null,
  settled_at timestamptz not null default clock_timestamp(),
  primary key (world_id, kind, activity_id),
  constraint settlements_result foreign key (world_id, kind, activity_id, result_digest)
    references fencepost.results (world_id, kind, activity_id, digest),
  constraint settlements_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred
);

-- what messages met; identities here may be anything, so nothing is referenced
create table fencepost.verdicts (
  verdict_id bigint generated always as identity primary key,
  world_id text not null, kind text not null, activity_id text not null,
  delivery bigint,
  verdict text not null constraint verdicts_verdict
    check (verdict in ('duplicate', 'late', 'superseded', 'recorded', 'held', 'ended', 'unknown_identity')),
  worker text not null,
  recorded_at timestamptz not null default clock_timestamp()
);
create index verdicts_by_activity on fencepost.verdicts (world_id, kind, activity_id);

create table fencepost.dead_letters (
  dead_letter_id bigint generated always as identity primary key,
  cause text not null,
  world_id text, kind text, activity_id text,
  queue text,
  bytes bytea,                              -- of a message; the first part when it was too long
  digest bytea,
  size bigint,
  detail text not null default '',
  recorded_at timestamptz not null default clock_timestamp(),
  constraint dead_letters_digest check (digest = sha256(bytes)),
  constraint dead_letters_bytes_or_identity check (bytes is not null or activity_id is not null)
);
create unique index dead_letters_one_per_activity on fencepost.dead_letters (world_id, kind, activity_id)
  where activity_id is not null;
