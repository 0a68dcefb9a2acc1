-- Decisions of what is held as unknown: each with its reason, and by a receipt.

alter table fencepost.unknowns
  add column adopts integer,                -- the number of the request that a person names
  add column decided_tick bigint,           -- the receipt that tells of the decision
  add constraint unknowns_adopts check ((adopts is not null) = (decision is not distinct from 'adopt')),
  add constraint unknowns_decision_known check (decision in ('look_again', 'adopt', 'attest_absence', 'abandon')),
  add constraint unknowns_decided_whole check (num_nonnulls(decided_at, decision, decided_by, reason, decided_tick) in (0, 5)),
  add constraint unknowns_reason check (length(btrim(reason)) >= 1),
  add constraint unknowns_receipt foreign key (world_id, decided_tick) references fencepost.receipts deferrable initially deferred;
drop trigger z_once on fencepost.unknowns;
create trigger z_once before update on fencepost.unknowns for each row
  execute function fencepost.allow_once('decided_at,decision,decided_by,reason,adopts,decided_tick');
-- what waits for a person, newest first, whatever was decided before
create index unknowns_open on fencepost.unknowns (opened_at) where decided_at is null;
-- a receipt's own
create index unknowns_by_tick on fencepost.unknowns (world_id, decided_tick) where decided_tick is not null;

grant update (adopts, decided_tick) on fencepost.unknowns to fencepost_app;
