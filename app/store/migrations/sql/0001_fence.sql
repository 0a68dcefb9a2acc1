-- The fence (PROTOCOL §1): one trigger in front of every table that workers write, and the few
-- functions through which authority changes. All are owned by a role without a login.
--   ZF001 another fence · ZF002 not live, or not yours · ZF003 stopped · ZF004 isolation
--   ZF005 unknown activity · ZF006 unfit argument · ZF007 append-only
-- Whoever takes authority away locks the activity's row in a statement of its own, looks, changes.

create function fencepost.check_fence(w text, k text, a text, f bigint, acts boolean) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  newest bigint;
  stopped text;
  token text := pg_catalog.current_setting('fencepost.token', true);
begin
  -- under a snapshot an end that touched `claims` alone would not be seen
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'ZF004', message = 'fenced writes need READ COMMITTED';
  end if;
  -- waits for a claim or cancel under way, and then sees the new row
  select t.fence, t.stop into newest, stopped from fencepost.activities t
   where t.world_id = w and t.kind = k and t.activity_id = a for share;
  if not found then
    raise exception using errcode = 'ZF005', message = pg_catalog.format('no activity %s/%s/%s', w, k, a);
  end if;
  if newest is distinct from f then
    raise exception using errcode = 'ZF001',
      message = pg_catalog.format('%s/%s/%s: fence %s outdated by %s', w, k, a, f, newest);
  end if;
  if acts and stopped is not null then
    raise exception using errcode = 'ZF003', message = pg_catalog.format('%s/%s/%s: stopped (%s)', w, k, a, stopped);
  end if;
  -- the clock is read after the lock is held
  perform from fencepost.claims c
   where c.world_id = w and c.kind = k and c.activity_id = a and c.fence = f and c.ended is null
     and c.token_hash = pg_catalog.sha256(pg_catalog.convert_to(token, 'UTF8'))
     and c.lease_until > pg_catalog.clock_timestamp();
  if not found then
    raise exception using errcode = 'ZF002',
      message = pg_catalog.format('%s/%s/%s: claim %s is not live, or not yours', w, k, a, f);
  end if;
end $$;

create function fencepost.guard_fence() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform fencepost.check_fence(new.world_id, new.kind, new.activity_id, new.fence, tg_argv[0] = 'acts');
  new.recorded_at := pg_catalog.clock_timestamp();  -- nobody dates back
  return new;
end $$;

-- a result ends its claim and its activity in the same statement
create function fencepost.end_activity() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  update fencepost.claims c set ended = pg_catalog.clock_timestamp(), end_cause = 'recorded'
   where c.world_id = new.world_id and c.kind = new.kind and c.activity_id = new.activity_id
     and c.fence = new.fence and c.ended is null;
  insert into fencepost.ends (world_id, kind, activity_id, fence, outcome)
  values (new.world_id, new.kind, new.activity_id, new.fence, new.outcome);
  return null;
end $$;

create function fencepost.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'ZF007', message = pg_catalog.format('%s is append-only: %s refused', tg_table_name, tg_op);
end $$;

-- staged_batches and unknowns, attempts: one late column group, set once
create function fencepost.allow_once() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  late text[] := pg_catalog.string_to_array(tg_argv[0], ',');
begin
  if pg_catalog.to_jsonb(old) ->> late[1] is not null
     or (pg_catalog.to_jsonb(old) - late) is distinct from (pg_catalog.to_jsonb(new) - late) then
    raise exception using errcode = 'ZF007', message = pg_catalog.format('%s is append-only: %s refused', tg_table_name, tg_op);
  end if;
  return new;
end $$;

create function fencepost.require_identity(w text, k text, a text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if w is null or k is null or a is null or pg_catalog.length(w) > 64 or pg_catalog.length(k) > 64 or pg_catalog.length(a) > 200 then
    raise exception using errcode = 'ZF006', message = 'identity missing or too long';
  end if;
end $$;

create function fencepost.require_read_committed() returns void
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'ZF004', message = 'claims need READ COMMITTED';
  end if;
end $$;

-- The newest fence and its token; only under the activity's lock. Not granted to any login.
create function fencepost.next_fence(w text, k text, a text, worker text, delivery bigint, out fence bigint, out token text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  act fencepost.activities;
  begun bigint;
begin
  update fencepost.claims c set ended = pg_catalog.clock_timestamp(), end_cause = 'expired'
   where c.world_id = w and c.kind = k and c.activity_id = a and c.ended is null;
  select * into act from fencepost.activities t where t.world_id = w and t.kind = k and t.activity_id = a;
  -- starts are counted on the activity, under any message id (Q09)
  select pg_catalog.count(*) into begun from (
    select s.fence from fencepost.starts s where s.world_id = w and s.kind = k and s.activity_id = a
    union select e.fence from fencepost.effect_calls e where e.world_id = w and e.kind = k and e.activity_id = a) as each_start;
  fence := act.fence + 1;
  token := pg_catalog.replace(pg_catalog.gen_random_uuid()::text || pg_catalog.gen_random_uuid()::text, '-', '');
  insert into fencepost.claims (world_id, kind, activity_id, fence, token_hash, worker, delivery, lease_until)
  values (w, k, a, next_fence.fence, pg_catalog.sha256(pg_catalog.convert_to(next_fence.token, 'UTF8')), next_fence.worker,
          next_fence.delivery, pg_catalog.clock_timestamp() + act.lease);
  update fencepost.activities t
     set fence = next_fence.fence,
         stop = case when begun >= act.most_starts then coalesce(act.stop, 'close_only') else act.stop end
   where t.world_id = w and t.kind = k and t.activity_id = a;
end $$;

-- What stands in the way of a claim, looked at under the activity's lock; null: nothing.
create function fencepost.obstacle(w text, k text, a text) returns text
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  live record;
begin
  perform from fencepost.settlements s where s.world_id = w and s.kind = k and s.activity_id = a;
  if found then return 'ended'; end if;
  perform from fencepost.results r where r.world_id = w and r.kind = k and r.activity_id = a;
  if found then return 'recorded'; end if;
  perform from fencepost.unknowns u where u.world_id = w and u.kind = k and u.activity_id = a and u.decided_at is null;
  if found then return 'held'; end if;
  -- locking the claim too waits for a renewal under way
  select * into live from fencepost.claims c
   where c.world_id = w and c.kind = k and c.activity_id = a and c.ended is null for update;
  if found and live.lease_until > pg_catalog.clock_timestamp() then return 'duplicate'; end if;
  return null;
end $$;

create function fencepost.claim(w text, k text, a text, delivery_number bigint, worker_name text,
                                out verdict text, out fence bigint, out token text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  sent record;
begin
  perform fencepost.require_read_committed();
  perform fencepost.require_identity(w, k, a);
  if worker_name is null or pg_catalog.length(worker_name) > 200 then
    raise exception using errcode = 'ZF006', message = 'worker name missing or too long';
  end if;
  perform from fencepost.activities t where t.world_id = w and t.kind = k and t.activity_id = a for update;
  if not found then
    verdict := 'unknown_identity';
    return;
  end if;
  verdict := fencepost.obstacle(w, k, a);
  if verdict is not null then return; end if;
  select * into sent from fencepost.deliveries d
   where d.world_id = w and d.kind = k and d.activity_id = a and d.number = delivery_number for update;
  verdict := case
    when not found then 'unknown_identity'
    when sent.claimed_fence is not null then 'duplicate'
    when sent.replaced_at is not null then 'superseded'
    when sent.deadline <= pg_catalog.clock_timestamp() then 'late'
  end;
  if verdict is not null then return; end if;
  select n.fence, n.token into claim.fence, claim.token
    from fencepost.next_fence(w, k, a, worker_name, delivery_number) as n;
  update fencepost.deliveries d set claimed_fence = claim.fence,
         published_at = coalesce(d.published_at, pg_catalog.clock_timestamp())
   where d.world_id = w and d.kind = k and d.activity_id = a and d.number = delivery_number;
end $$;

-- The control plane's own fence, for an ending that no worker can record (L9).
create function fencepost.claim_for_control(w text, k text, a text, out verdict text, out fence bigint, out token text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform fencepost.require_read_committed();
  perform fencepost.require_identity(w, k, a);
  perform from fencepost.activities t where t.world_id = w and t.kind = k and t.activity_id = a for update;
  if not found then
    verdict := 'unknown_identity';
    return;
  end if;
  verdict := fencepost.obstacle(w, k, a);
  if verdict is not null then return; end if;
  select n.fence, n.token into claim_for_control.fence, claim_for_control.token
    from fencepost.next_fence(w, k, a, 'control', null) as n;
  update fencepost.deliveries d set replaced_at = pg_catalog.clock_timestamp()
   where d.world_id = w and d.kind = k and d.activity_id = a and d.claimed_fence is null and d.replaced_at is null;
end $$;

-- All claims of one process, [{"w","k","a","f","t"}]; what is not returned is lost. Lock first, in key
-- order, and only then look at the leases: an update that waits for a row lock would revive an expired one.
create function fencepost.renew(held jsonb)
returns table (world_id text, kind text, activity_id text, fence bigint, stop text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  perform fencepost.require_read_committed();
  if pg_catalog.jsonb_typeof(held) is distinct from 'array' or pg_catalog.jsonb_array_length(held) > 20000 then
    raise exception using errcode = 'ZF006', message = 'renew takes an array of at most 20000 claims';
  end if;
  perform from fencepost.claims c
    join pg_catalog.jsonb_to_recordset(held) as m(w text, k text, a text, f bigint, t text)
      on c.world_id = m.w and c.kind = m.k and c.activity_id = m.a and c.fence = m.f
     and c.token_hash = pg_catalog.sha256(pg_catalog.convert_to(m.t, 'UTF8'))
   order by c.world_id, c.kind, c.activity_id, c.fence
     for no key update of c;
  return query
    update fencepost.claims c
       set lease_until = pg_catalog.clock_timestamp() + y.lease
      from pg_catalog.jsonb_to_recordset(held) as m(w text, k text, a text, f bigint, t text)
      join fencepost.activities y on y.world_id = m.w and y.kind = m.k and y.activity_id = m.a
     where c.world_id = m.w and c.kind = m.k and c.activity_id = m.a and c.fence = m.f
       and c.token_hash = pg_catalog.sha256(pg_catalog.convert_to(m.t, 'UTF8'))
       and c.ended is null and c.lease_until > pg_catalog.clock_timestamp()
    returning c.world_id, c.kind, c.activity_id, c.fence, y.stop;
end $$;

-- Hand the work back; the chain at the provider stays open, and another claim goes on later.
create function fencepost.release(w text, k text, a text, f bigint, token text, detail text, retry_after interval) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform fencepost.require_identity(w, k, a);
  if detail is null or pg_catalog.length(detail) > 2000 or retry_after is null
     or retry_after < interval '0' or retry_after > interval '1 day' then
    raise exception using errcode = 'ZF006', message = 'detail too long, or retry_after not between nothing and a day';
  end if;
  perform from fencepost.activities t where t.world_id = w and t.kind = k and t.activity_id = a for update;
  perform pg_catalog.set_config('fencepost.token', token, true);
  perform fencepost.check_fence(w, k, a, f, false);
  update fencepost.claims c
     set ended = pg_catalog.clock_timestamp(), end_cause = 'released', end_detail = detail,
         retry_at = pg_catalog.clock_timestamp() + retry_after
   where c.world_id = w and c.kind = k and c.activity_id = a and c.fence = f;
end $$;

-- Nothing proves what happened: keep it, show it, and let a person decide.
create function fencepost.hold(w text, k text, a text, f bigint, token text, code text, detail text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform fencepost.require_identity(w, k, a);
  if code is null or detail is null or pg_catalog.length(code) > 64 or pg_catalog.length(detail) > 8000 then
    raise exception using errcode = 'ZF006', message = 'code or detail missing or too long';
  end if;
  perform from fencepost.activities t where t.world_id = w and t.kind = k and t.activity_id = a for update;
  perform pg_catalog.set_config('fencepost.token', token, true);
  perform fencepost.check_fence(w, k, a, f, false);
  insert into fencepost.unknowns (world_id, kind, activity_id, fence, code, detail) values (w, k, a, f, code, detail);
  update fencepost.claims c set ended = pg_catalog.clock_timestamp(), end_cause = 'held', end_detail = code
   where c.world_id = w and c.kind = k and c.activity_id = a and c.fence = f;
end $$;

create function fencepost.record_verdict(w text, k text, a text, delivery_number bigint, refusal text, worker_name text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform fencepost.require_identity(w, k, a);
  if worker_name is null or pg_catalog.length(worker_name) > 200
     or refusal is null or refusal not in ('duplicate', 'late', 'superseded', 'recorded', 'held', 'ended', 'unknown_identity') then
    raise exception using errcode = 'ZF006', message = 'no such verdict, or worker name missing or too long';
  end if;
  insert into fencepost.verdicts (world_id, kind, activity_id, delivery, verdict, worker)
  values (w, k, a, delivery_number, refusal, worker_name);
end $$;

-- A message that is no delivery of ours: keep its first 256 KiB, and its whole size.
create function fencepost.bury_bytes(from_queue text, why text, message bytea) returns bigint
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  kept bytea := pg_catalog.substring(message, 1, 262144);
  letter bigint;
begin
  if from_queue is null or pg_catalog.length(from_queue) > 200 or why is null or pg_catalog.length(why) > 64 or message is null then
    raise exception using errcode = 'ZF006', message = 'queue, cause or bytes missing or too long';
  end if;
  insert into fencepost.dead_letters (cause, queue, bytes, digest, size)
  values (why, from_queue, kept, pg_catalog.sha256(kept), pg_catalog.octet_length(message))
  returning dead_letter_id into letter;
  return letter;
end $$;

do $$
declare
  fenced text;
  history text;
begin
  foreach fenced in array array['bindings', 'starts', 'effect_calls', 'effect_answers', 'events', 'artifacts', 'payloads', 'results'] loop
    -- `a_` makes it fire before any other trigger
    execute format('create trigger a_fence before insert on fencepost.%I for each row execute function fencepost.guard_fence(%L)',
      fenced, case when fenced in ('starts', 'effect_calls') then 'acts' else 'tells' end);
  end loop;
  foreach history in array array['bindings', 'starts', 'effect_calls', 'effect_answers', 'events', 'artifacts', 'payloads',
      'results', 'ends', 'settlements', 'verdicts', 'dead_letters', 'receipts', 'entities', 'facts', 'relations', 'idempotency_keys'] loop
    execute format('create trigger z_append_only before update or delete on fencepost.%I for each row execute function fencepost.refuse_change()', history);
    execute format('create trigger z_no_truncate before truncate on fencepost.%I for each statement execute function fencepost.refuse_change()', history);
  end loop;
  foreach history in array array['staged_batches', 'unknowns', 'gates', 'attempts', 'claims', 'deliveries', 'activities', 'principals'] loop
    execute format('create trigger z_no_delete before delete on fencepost.%I for each row execute function fencepost.refuse_change()', history);
    execute format('create trigger z_no_truncate before truncate on fencepost.%I for each statement execute function fencepost.refuse_change()', history);
  end loop;
end $$;
-- an ended claim never lives again
create trigger z_ended before update on fencepost.claims for each row
  when (old.ended is not null) execute function fencepost.refuse_change();
create trigger m_end after insert on fencepost.results for each row execute function fencepost.end_activity();
create trigger z_once before update on fencepost.staged_batches for each row execute function fencepost.allow_once('consumed_tick');
create trigger z_once before update on fencepost.unknowns for each row
  execute function fencepost.allow_once('decided_at,decision,decided_by,reason');
create trigger z_once before update on fencepost.gates for each row
  execute function fencepost.allow_once('decided_at,decision,decided_by,reason');
create trigger z_once before update on fencepost.attempts for each row execute function fencepost.allow_once('ended_at,outcome');
-- a token is revoked once, and a principal stays: receipts name it
create trigger z_once before update on fencepost.principals for each row execute function fencepost.allow_once('revoked_at');
