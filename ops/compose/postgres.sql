-- Run by the image once, when the volume is empty: a role that owns the application's database, for its migrations, and
-- one each for server, worker and who looks on, which own nothing. What they may do is granted after each migration.
\getenv owner DIARY_DATABASE_PASSWORD
\getenv server DIARY_SERVER_PASSWORD
\getenv worker DIARY_WORKER_PASSWORD
CREATE ROLE diary LOGIN PASSWORD :'owner';
CREATE ROLE diary_server LOGIN PASSWORD :'server';
CREATE ROLE diary_worker LOGIN PASSWORD :'worker';
CREATE ROLE diary_operator;
CREATE DATABASE diary OWNER diary;
