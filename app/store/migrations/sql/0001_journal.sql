-- The journal of an attempt (O04): one sequence over what its workers and the control plane tell.
-- It is counted on a row of its own in the writer's transaction, so a rollback leaves no gap, and
-- whoever sees a number sees every number before it. Whoever counts holds the row until the commit:
-- it stands at the attempt's place in the lock order, and a tick counts last.
--   ZF008 something else is already recorded under this number, name or key

create table fencepost.attempt_counters (
  world_id text not null,
  attempt_id text not null,
  event_sequence bigint not null default 0,
  artifact_bytes bigint not null default 0
    constraint attempt_counters_artifact_limit check (artifact_bytes <= 67108864),
  primary key (world_id, attempt_id),
  constraint attempt_counters_attempt foreign key (world_id, attempt_id) references fencepost.attempts
) with (fillfactor = 50);

-- what the control plane tells of an attempt; workers tell theirs in `events`, under the fence
create table fencepost.attempt_events (
  world_id text not null,
  attempt_id text not null,
  sequence bigint not null,                 -- of b_sequence, whatever is given
  type text not null constraint attempt_events_type
    check (type in ('start', 'step', 'tool', 'command', 'file', 'artifact', 'checkpoint', 'retry', 'human',
                    'pause', 'resume', 'failure', 'completion', 'cancellation', 'output')),
  value bytea not null constraint attempt_events_size check (octet_length(value) <= 262144),
  tick bigint not null,                     -- the receipt that says the same
  recorded_at timestamptz not null default clock_timestamp(),
  primary key (world_id, attempt_id, sequence),
  constraint attempt_events_attempt foreign key (world_id, attempt_id) references fencepost.attempts,
  constraint attempt_events_receipt foreign key (world_id, tick) references fencepost.receipts deferrable initially deferred
);

create function fencepost.open_counters() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into fencepost.attempt_counters (world_id, attempt_id) values (new.world_id, new.attempt_id);
  return null;
end $$;

-- The next number of an attempt; the row is held until the commit. Not granted to any login.
create function fencepost.next_event(w text, a text) returns bigint
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  update fencepost.attempt_counters c set event_sequence = c.event_sequence + 1
   where c.world_id = w and c.attempt_id = a returning c.event_sequence
$$;

-- The attempt of an activity, its counters locked: what committed before is seen after this.
create function fencepost.hold_counters(w text, k text, a text) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  attempt text;
begin
  select t.attempt_id into attempt from fencepost.activities t
   where t.world_id = w and t.kind = k and t.activity_id = a;
  perform from fencepost.attempt_counters c where c.world_id = w and c.attempt_id = attempt for update;
  return attempt;
end $$;

-- The exact repeat is taken for written and adds nothing; anything else in its place is refused.
create function fencepost.count_event() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  earlier record;
begin
  new.attempt_id := fencepost.hold_counters(new.world_id, new.kind, new.activity_id);
  for earlier in
    select e.type, e.value, e.key from fencepost.events e
     where e.world_id = new.world_id and e.kind = new.kind and e.activity_id = new.activity_id
       and e.fence = new.fence and e.n = new.n
    union all
    select e.type, e.value, e.key from fencepost.events e
     where new.key is not null and e.world_id = new.world_id and e.attempt_id = new.attempt_id and e.key = new.key
  loop
    if (earlier.type, earlier.value, earlier.key) is distinct from (new.type, new.value, new.key) then
      raise exception using errcode = 'ZF008', message = pg_catalog.format('%s: another event is recorded as %s',
        new.attempt_id, coalesce(new.key, new.fence || '.' || new.n));
    end if;
    return null;
  end loop;
  new.sequence := fencepost.next_event(new.world_id, new.attempt_id);
  return new;
end $$;

create function fencepost.count_artifact() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  earlier record;
begin
  new.attempt_id := fencepost.hold_counters(new.world_id, new.kind, new.activity_id);
  for earlier in
    select a.name, a.media_type, a.digest, a.key from fencepost.artifacts a
     where a.world_id = new.world_id and a.kind = new.kind and a.activity_id = new.activity_id
       and a.fence = new.fence and a.name = new.name
    union all
    select a.name, a.media_type, a.digest, a.key from fencepost.artifacts a
     where new.key is not null and a.world_id = new.world_id and a.attempt_id = new.attempt_id and a.key = new.key
  loop
    if (earlier.name, earlier.media_type, earlier.digest, earlier.key)
       is distinct from (new.name, new.media_type, new.digest, new.key) then
      raise exception using errcode = 'ZF008', message = pg_catalog.format('%s: another artifact is recorded as %s',
        new.attempt_id, coalesce(new.key, new.name));
    end if;
    return null;
  end loop;
  update fencepost.attempt_counters c set artifact_bytes = c.artifact_bytes + pg_catalog.octet_length(new.bytes)
   where c.world_id = new.world_id and c.attempt_id = new.attempt_id;
  return new;
end $$;

create function fencepost.count_attempt_event() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  new.sequence := fencepost.next_event(new.world_id, new.attempt_id);
  new.recorded_at := pg_catalog.clock_timestamp();  -- after the wait
  return new;
end $$;

create trigger b_counters after insert on fencepost.attempts for each row execute function fencepost.open_counters();
-- after `a_fence`: who has no live claim waits for nothing and counts nothing
create trigger b_sequence before insert on fencepost.events for each row execute function fencepost.count_event();
create trigger b_sequence before insert on fencepost.artifacts for each row execute function fencepost.count_artifact();
create trigger b_sequence before insert on fencepost.attempt_events for each row execute function fencepost.count_attempt_event();
create trigger z_append_only before update or delete on fencepost.attempt_events for each row execute function fencepost.refuse_change();
create trigger z_no_truncate before truncate on fencepost.attempt_events for each statement execute function fencepost.refuse_change();
create trigger z_no_delete before delete on fencepost.attempt_counters for each row execute function fencepost.refuse_change();
create trigger z_no_truncate before truncate on fencepost.attempt_counters for each statement execute function fencepost.refuse_change();
-- a number is given once
create trigger z_rises before update on fencepost.attempt_counters for each row
  when (new.event_sequence < old.event_sequence or new.artifact_bytes < old.artifact_bytes
        or (new.world_id, new.attempt_id) is distinct from (old.world_id, old.attempt_id))
  execute function fencepost.refuse_change();
