-- Dead letters that a person has seen, and that nothing will come of (Q05).

create table fencepost.dismissals (
  dead_letter_id bigint primary key,        -- once a letter
  actor text not null,
  reason text not null constraint dismissals_reason check (length(btrim(reason)) between 10 and 2000),
  dismissed_at timestamptz not null default clock_timestamp(),
  constraint dismissals_letter foreign key (dead_letter_id) references fencepost.dead_letters,
  constraint dismissals_actor foreign key (actor) references fencepost.principals
);
create trigger z_append_only before update or delete on fencepost.dismissals for each row execute function fencepost.refuse_change();
create trigger z_no_truncate before truncate on fencepost.dismissals for each statement execute function fencepost.refuse_change();

grant select, insert (dead_letter_id, actor, reason) on fencepost.dismissals to fencepost_app;
