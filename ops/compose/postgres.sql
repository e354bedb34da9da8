-- Run by the image once, when the volume is empty: a role for the application that owns its database and nothing else.
\getenv password DIARY_DATABASE_PASSWORD
CREATE ROLE diary LOGIN PASSWORD :'password';
CREATE DATABASE diary OWNER diary;
