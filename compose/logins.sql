-- Run once by the server itself, while its volume is new: the three logins, and the role without one.
-- What it grants is what `fencepost database roles` prints; each password is the one in its login's URL.
\set ON_ERROR_STOP on
do $$
declare
  login text;
  password text;
begin
  foreach login in array array['owner', 'app', 'worker'] loop
    password := substring(pg_read_file('/run/secrets/' || login || '_url') from '//[^:/@]+:([^@/]+)@');
    if password is null then
      raise exception 'no password in the URL of %', login;
    end if;
    execute format('create role %I login password %L', 'fencepost_' || login, password);
  end loop;
end $$;
create role fencepost_fence nologin;
grant fencepost_fence to fencepost_owner;
alter database fencepost owner to fencepost_owner;
revoke all on database fencepost from public;
grant connect on database fencepost to fencepost_app, fencepost_worker;
grant create on database fencepost to fencepost_owner;
