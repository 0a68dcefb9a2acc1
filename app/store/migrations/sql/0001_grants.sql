-- Who may do what (S02). The owner migrates; fencepost_app decides; fencepost_worker acts;
-- fencepost_fence owns the trigger and the functions and cannot log in.

revoke create on schema public from public;
grant usage on schema fencepost to fencepost_fence, fencepost_app, fencepost_worker;

-- the definer: locking a row FOR SHARE or FOR UPDATE takes the right to update it
grant select, update on fencepost.activities, fencepost.claims, fencepost.deliveries to fencepost_fence;
grant select on fencepost.starts, fencepost.effect_calls, fencepost.results, fencepost.settlements, fencepost.unknowns to fencepost_fence;
grant select on fencepost.events, fencepost.artifacts to fencepost_fence;
grant select, insert, update on fencepost.attempt_counters to fencepost_fence;
grant insert on fencepost.claims, fencepost.unknowns, fencepost.ends, fencepost.verdicts, fencepost.dead_letters to fencepost_fence;
grant select (dead_letter_id) on fencepost.dead_letters to fencepost_fence;
grant select (principal_id, name, scopes, worlds, token_hash, revoked_at) on fencepost.principals to fencepost_fence;

revoke execute on all functions in schema fencepost from public;
grant create on schema fencepost to fencepost_fence;
do $$
declare
  one regprocedure;
begin
  for one in select p.oid::regprocedure from pg_proc p where p.pronamespace = 'fencepost'::regnamespace loop
    execute format('alter function %s owner to fencepost_fence', one);
  end loop;
end $$;
revoke create on schema fencepost from fencepost_fence;

set role fencepost_fence;
revoke execute on all functions in schema fencepost from public;
grant execute on function fencepost.claim, fencepost.renew, fencepost.release, fencepost.hold,
  fencepost.record_verdict, fencepost.bury_bytes to fencepost_worker, fencepost_app;
grant execute on function fencepost.claim_for_control, fencepost.authenticate to fencepost_app;
reset role;

-- workers: read what the work needs, insert under the fence, nothing else
grant select on fencepost.installation, fencepost.worlds, fencepost.activities, fencepost.deliveries,
  fencepost.bindings, fencepost.starts, fencepost.effect_calls, fencepost.effect_answers, fencepost.events,
  fencepost.artifacts, fencepost.payloads, fencepost.results, fencepost.ends, fencepost.unknowns,
  fencepost.alembic_version to fencepost_worker;
grant select (world_id, kind, activity_id, fence, worker, delivery, claimed_at, lease_until, ended, end_cause, end_detail, retry_at)
  on fencepost.claims to fencepost_worker;
grant insert on fencepost.bindings, fencepost.starts, fencepost.effect_calls, fencepost.effect_answers, fencepost.events,
  fencepost.artifacts, fencepost.payloads, fencepost.results to fencepost_worker;

-- the control plane
grant select on all tables in schema fencepost to fencepost_app;
revoke select on fencepost.claims, fencepost.principals from fencepost_app;
grant select (world_id, kind, activity_id, fence, worker, delivery, claimed_at, lease_until, ended, end_cause, end_detail, retry_at)
  on fencepost.claims to fencepost_app;
grant select (principal_id, name, scopes, worlds, created_at, revoked_at),
  insert (principal_id, name, scopes, worlds, token_hash), update (revoked_at) on fencepost.principals to fencepost_app;
grant insert on fencepost.worlds, fencepost.receipts, fencepost.entities, fencepost.facts, fencepost.relations,
  fencepost.projector_cursors, fencepost.idempotency_keys, fencepost.repositories, fencepost.work_orders, fencepost.tasks, fencepost.attempts,
  fencepost.attempt_events, fencepost.steps, fencepost.gates, fencepost.activities, fencepost.deliveries, fencepost.payloads, fencepost.results,
  fencepost.staged_batches, fencepost.settlements, fencepost.dead_letters, fencepost.unknowns to fencepost_app;
grant update (tick, entity_sequence, receipt_digest, settings) on fencepost.worlds to fencepost_app;
grant update (tick) on fencepost.projector_cursors to fencepost_app;
grant update (title, bytes, digest, state, author, second_person, approved_digest, approved_by) on fencepost.work_orders to fencepost_app;
grant update (board_column) on fencepost.tasks to fencepost_app;
grant update (ended_at, outcome) on fencepost.attempts to fencepost_app;
grant update (state, activity_id, outcome, outputs) on fencepost.steps to fencepost_app;
grant update (decided_at, decision, decided_by, reason) on fencepost.gates to fencepost_app;
grant update (stop) on fencepost.activities to fencepost_app;
grant update (ended, end_cause, end_detail) on fencepost.claims to fencepost_app;
grant update (published_at, replaced_at) on fencepost.deliveries to fencepost_app;
grant update (consumed_tick) on fencepost.staged_batches to fencepost_app;
grant update (decided_at, decision, decided_by, reason) on fencepost.unknowns to fencepost_app;
