-- What bounds the queues (Q02): limits and pauses, which belong to no world, and whose turn it is.

-- every row is a decision, and the newest on the same thing holds: who, when and why are never lost
create table fencepost.limits (
  limit_id bigint generated always as identity primary key,
  what text not null constraint limits_what check (what in ('running', 'window', 'waiting', 'pause')),
  queue text,                               -- null: all queues together
  world_id text constraint limits_world references fencepost.worlds,  -- of a limit on waiting work; null: every world
  value bigint constraint limits_value check (value >= 1),  -- null: no limit, the usual window, no pause
  set_by text not null constraint limits_set_by references fencepost.principals,
  set_at timestamptz not null default clock_timestamp(),
  reason text not null constraint limits_reason check (length(btrim(reason)) >= 1),
  constraint limits_of check (case what
    when 'waiting' then queue is null
    when 'running' then world_id is null
    else queue is not null and world_id is null end),
  constraint limits_window check (what <> 'window' or value <= 100000),
  constraint limits_pause check (what <> 'pause' or value = 1)
);
-- every claim asks whether its queue is paused
create index limits_newest on fencepost.limits (what, queue, limit_id);
create trigger z_append_only before update or delete on fencepost.limits for each row execute function fencepost.refuse_change();
create trigger z_no_truncate before truncate on fencepost.limits for each statement execute function fencepost.refuse_change();

-- the last turn that a world had in a queue: the world with the lowest comes next
create sequence fencepost.turn;
create table fencepost.turns (
  world_id text not null constraint turns_world references fencepost.worlds,
  kind text not null,
  turn bigint not null default nextval('fencepost.turn'),
  primary key (world_id, kind)
) with (fillfactor = 50);

-- `published_at` says since when a message may be in Redis. Until it is known to be, whoever sends it has so long
alter table fencepost.deliveries
  add column sending_until timestamptz,
  add constraint deliveries_sending check (sending_until is null or published_at is not null);
-- a world's next in a queue, however many others wait
drop index fencepost.deliveries_waiting;
create index deliveries_waiting on fencepost.deliveries (kind, world_id, priority, not_before)
  where published_at is null and claimed_fence is null and replaced_at is null;
-- what may be in Redis: no more than the windows
create index deliveries_out on fencepost.deliveries (kind, published_at)
  where published_at is not null and claimed_fence is null and replaced_at is null;

-- what the reaper looks for, without reading whatever there ever was
create index claims_given_up on fencepost.claims (world_id, kind, activity_id, fence)
  where end_cause in ('expired', 'released', 'held');
create index activities_stopped on fencepost.activities (stop) where stop is not null;

alter table fencepost.verdicts
  drop constraint verdicts_verdict,
  add constraint verdicts_verdict check (verdict in
    ('duplicate', 'late', 'superseded', 'recorded', 'held', 'ended', 'unknown_identity', 'paused'));
create or replace function fencepost.record_verdict(w text, k text, a text, delivery_number bigint, refusal text, worker_name text) returns void
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform fencepost.require_identity(w, k, a);
  if worker_name is null or pg_catalog.length(worker_name) > 200
     or refusal is null or refusal not in
       ('duplicate', 'late', 'superseded', 'recorded', 'held', 'ended', 'unknown_identity', 'paused') then
    raise exception using errcode = 'ZF006', message = 'no such verdict, or worker name missing or too long';
  end if;
  insert into fencepost.verdicts (world_id, kind, activity_id, delivery, verdict, worker)
  values (w, k, a, delivery_number, refusal, worker_name);
end $$;

-- A claim, unless the queue is paused. No safety rests on it: whoever calls `claim` itself gets a claim like any other.
create function fencepost.claim_unless_paused(w text, k text, a text, delivery_number bigint, worker_name text,
                                              out verdict text, out fence bigint, out token text)
language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
begin
  if (select l.value from fencepost.limits l where l.what = 'pause' and l.queue = k order by l.limit_id desc limit 1) is not null then
    -- what would be refused anyway is refused for its own reason
    perform from fencepost.deliveries d
     where d.world_id = w and d.kind = k and d.activity_id = a and d.number = delivery_number
       and d.claimed_fence is null and d.replaced_at is null;
    if found then
      verdict := 'paused';
      return;
    end if;
  end if;
  select c.verdict, c.fence, c.token into claim_unless_paused.verdict, claim_unless_paused.fence, claim_unless_paused.token
    from fencepost.claim(w, k, a, delivery_number, worker_name) c;
end $$;

grant create on schema fencepost to fencepost_fence;
alter function fencepost.claim_unless_paused owner to fencepost_fence;
revoke create on schema fencepost from fencepost_fence;
set role fencepost_fence;
revoke execute on function fencepost.claim_unless_paused from public;
grant execute on function fencepost.claim_unless_paused to fencepost_worker, fencepost_app;
reset role;

grant select on fencepost.limits to fencepost_fence;
grant select, insert (what, queue, world_id, value, set_by, reason) on fencepost.limits to fencepost_app;
grant select, insert (world_id, kind), update (turn) on fencepost.turns to fencepost_app;
grant usage on sequence fencepost.turn to fencepost_app;
grant update (sending_until, deadline) on fencepost.deliveries to fencepost_app;
