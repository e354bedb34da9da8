-- Every relation keeps its row, with a state and a version that grows by one at each change: what arrives late or twice
-- is told by it, and the ids of the activities that announce the change are derived from it.
CREATE TABLE local_follows (
  follower_id uuid    NOT NULL REFERENCES users,
  followee_id uuid    NOT NULL REFERENCES users,
  active      boolean NOT NULL,
  version     integer NOT NULL,
  PRIMARY KEY (follower_id, followee_id),
  CHECK (follower_id <> followee_id)
);

-- Local users who follow an actor of another instance.
CREATE TABLE remote_followings (
  user_id uuid    NOT NULL REFERENCES users,
  actor   text    NOT NULL,
  state   text    NOT NULL CHECK (state IN ('requested', 'accepted', 'ended')),
  version integer NOT NULL,
  PRIMARY KEY (user_id, actor)
);

-- Actors of other instances who follow a local user; version is the follower's own, as its activities carry it.
CREATE TABLE remote_followers (
  user_id uuid    NOT NULL REFERENCES users,
  actor   text    NOT NULL,
  inbox   text    NOT NULL,
  active  boolean NOT NULL,
  version integer NOT NULL,
  PRIMARY KEY (user_id, actor)
);

CREATE TABLE blocks (
  user_id uuid    NOT NULL REFERENCES users,
  actor   text    NOT NULL,
  active  boolean NOT NULL,
  version integer NOT NULL,
  PRIMARY KEY (user_id, actor)
);

-- Likes and announcements ("boosts") of a review, local or remote, by a local user.
CREATE TABLE reactions (
  user_id    uuid    NOT NULL REFERENCES users,
  kind       text    NOT NULL CHECK (kind IN ('like', 'announce')),
  review_uri text    NOT NULL,
  active     boolean NOT NULL,
  version    integer NOT NULL,
  PRIMARY KEY (user_id, kind, review_uri)
);
