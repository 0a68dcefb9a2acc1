-- Where a start's fence reached the remote (PROTOCOL §7): a mark on the operation ref, the same mark
-- on a branch, or none, because the remote takes neither; then the payload is here before the push.
alter table fencepost.starts
  add column mode text not null default 'operation_ref',
  add constraint starts_mode check (mode in ('operation_ref', 'operation_branch', 'database')),
  alter column sha drop not null,
  -- a start names the mark that it stands on; without a mark there is nothing to name
  add constraint starts_sha_is_the_mark check ((sha is null) = (mode = 'database'));

-- Payloads that were kept before anything was pushed; few, so that ordinary results pay nothing.
alter table fencepost.payloads add column deposited boolean not null default false;
create index payloads_deposited on fencepost.payloads (world_id, kind, activity_id) where deposited;
