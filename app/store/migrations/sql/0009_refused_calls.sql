-- A call that the forge refused has done nothing: it is no start (Q09, G04).
grant select on fencepost.effect_answers to fencepost_fence;

create or replace function fencepost.next_fence(w text, k text, a text, worker text, delivery bigint, out fence bigint, out token text)
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
    union select e.fence from fencepost.effect_calls e where e.world_id = w and e.kind = k and e.activity_id = a
      and not exists (select from fencepost.effect_answers r where r.world_id = w and r.kind = k and r.activity_id = a
                         and r.call_fence = e.fence and r.n = e.n and r.outcome = 'refused')) as each_start;
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
