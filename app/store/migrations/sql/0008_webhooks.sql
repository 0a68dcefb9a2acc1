-- Hints of a forge: what it says has happened. Nothing follows from one but an earlier look (G07).

create table fencepost.webhook_deliveries (
  delivery_id text primary key              -- the forge's own; a repeated one is not heeded again
    constraint webhook_deliveries_id check (delivery_id ~ '^[0-9A-Za-z-]{1,64}$'),
  event text not null constraint webhook_deliveries_event
    check (event in ('check_run', 'check_suite', 'status', 'pull_request', 'push', 'ping')),
  repository text constraint webhook_deliveries_repository check (length(repository) <= 500),
  shas text[] not null constraint webhook_deliveries_shas check (cardinality(shas) <= 4),
  received_at timestamptz not null default clock_timestamp()
);
-- what came since a look began, and what is old enough to be forgotten
create index webhook_deliveries_by_time on fencepost.webhook_deliveries (received_at);

-- the commit that a `forge.checks` activity watches; requests are canonical JSON, so this never fails
create function fencepost.checked_head(request bytea) returns text
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
  select convert_from(request, 'UTF8')::jsonb #>> '{head,sha}'
$$;
create index activities_by_checked_head on fencepost.activities (fencepost.checked_head(request))
  where kind = 'forge.checks';

grant create on schema fencepost to fencepost_fence;
alter function fencepost.checked_head owner to fencepost_fence;
revoke create on schema fencepost from fencepost_fence;
do $$
declare
  owner text := current_user;  -- who analyses the table computes the index too
begin
  set local role fencepost_fence;
  revoke execute on function fencepost.checked_head from public;
  execute format('grant execute on function fencepost.checked_head to fencepost_app, %I', owner);
  reset role;
end $$;
-- they are forgotten after a while: no evidence, and no outcome depends on them
grant select, insert (delivery_id, event, repository, shas), delete on fencepost.webhook_deliveries to fencepost_app;
grant update (not_before) on fencepost.deliveries to fencepost_app;
