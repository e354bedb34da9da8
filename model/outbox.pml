/*
 * Model 1 of 2: from the commit of an event to the stream. Claim, fence, take-over, eager publishing, publishing again,
 * mark, and drainOnce beside them. docs/reliability.md explains it; `npm run model` checks it.
 *
 * A file and a name in square brackets are the function that a step stands for; model.test.ts sees to it that it
 * exists. One SQL statement is one atomic or d_step: PostgreSQL runs it whole or not at all, and the fence row orders
 * a claim statement and a bump. Between any two steps all others may come in, which also stands for any delay.
 *
 * -D picks the variant. Size and faults:
 *   CRASHES   worker processes killed, at any step; each comes back with nothing in memory
 *   FREEZES   activities that Temporal takes for lost while they go on (frozen, or cut off from Temporal)
 *   REFUSALS  publishes that have no ack, of which the broker may have stored the message or not
 *   DRAIN     a drainOnce runs beside the relay, and may die or be slower than its lease
 * Mutants, each a build with one thing left out: MARK_WITHOUT_TOKEN, CLAIM_BY_HIGH_WATER_MARK, PUBLISH_WITHOUT_ID,
 *   MARK_BEFORE_ACK, NO_TAKE_OVER, NO_LEASE, DUAL_WRITE.
 */
#define N 3
#define W 2
#define BATCH 2                  /* rows of one claim */

mtype:tx = { OPEN, COMMITTED, ROLLED_BACK };
mtype:row = { ABSENT, PENDING, PROCESSING, DONE, DEAD };
mtype:activity = { NONE, SCHEDULED, STARTED };
mtype:stage = { FREE, COLLECT, AGAIN, RESEND, MARK_FAILED, MARK_REFUSED, MARK_DONE };

/* ---- PostgreSQL ---- */
mtype:tx tx[N];
mtype:row row[N];               /* event_queue.status; deferred is PENDING here, as time is anything */
byte token[N];                   /* event_queue.claim_token; 0 is null */
byte epoch;                      /* relay_fence */
#define OUTSIDE 200              /* drainOnce: a token outside the fence */

/* ---- the stream ---- */
byte copies[N];                  /* messages in it with this event id, all within the duplicate window */

/* ---- the relay workflow, which Temporal keeps whatever happens to workers [src/workflows/relay.ts: relay] ---- */
mtype:activity claim = NONE;     /* the one claim that is outstanding */
bool again;                      /* this is not its first attempt */
byte claimer;                    /* the worker that runs it */
bool untidy = true;
byte given;                      /* openTokens in its request */
byte open;                       /* token of the batch that is being settled beside it; 0 for none */
mtype:stage stage = FREE;
byte holder;                     /* the worker whose memory has the batch */
bool gone;                       /* that memory is lost */
byte inflight, acked, failed, refused;                /* of the batch: rows as bits */
byte lateToken, lateFailed;      /* a mark that was taken for lost and goes on */

/* ---- workers ---- */
byte held[W];                    /* token of its claim attempt, 0 for none */
byte stray[W];                   /* published by nobody's order any more: a frozen worker that goes on */

bool ready;
byte crashes = CRASHES, freezes = FREEZES, refusals = REFUSALS;
#ifdef DRAIN
bool drainSlow;                  /* its lease is over */
#endif
#ifdef CLAIM_BY_HIGH_WATER_MARK
byte mark;                       /* the highest id seen, and one */
#define BEHIND(e) (e < mark)
#else
#define BEHIND(e) false
#endif

#define WITH_TOKEN(e) (row[e] == PROCESSING && token[e] != OUTSIDE)
#define BIT(e) (1 << (e))
#define DUE(e) (row[e] == PENDING && !BEHIND(e))
#define ANY_DUE (DUE(0) || DUE(1) || DUE(2))
#define OPENED(t) (t == open)
#define LEFT(e, mine) (row[e] == PROCESSING && token[e] != OUTSIDE && token[e] != mine && !OPENED(token[e]))
#ifdef NO_TAKE_OVER
#define LEFT_BEHIND(mine) false
#else
#define LEFT_BEHIND(mine) (LEFT(0, mine) || LEFT(1, mine) || LEFT(2, mine))
#endif
#if defined(DRAIN) && !defined(NO_LEASE)
#define OVERDUE (drainSlow && (token[0] == OUTSIDE || token[1] == OUTSIDE || token[2] == OUTSIDE))
#else
#define OVERDUE false
#endif
#define TO_TIDY(mine) (LEFT_BEHIND(mine) || OVERDUE)

/* Nothing that is committed is lost: a row says done only when its event is in the stream. */
#define SOUND(e) assert(row[e] != DONE || copies[e] > 0)

inline first(set, e) {
  e = 0;
  do
  :: e < N && !(set & BIT(e)) -> e++
  :: else -> break
  od
}

/* The broker keeps one message of an id, and answers `duplicate` to the next [src/activities/relay.ts: publish]. */
inline store(e) {
#ifdef PUBLISH_WITHOUT_ID
  copies[e]++;
#else
  if
  :: copies[e] == 0 -> copies[e] = 1
  :: else
  fi;
#endif
  assert(copies[e] <= 1);                  /* property: one copy in the stream */
  assert(tx[e] == COMMITTED)               /* property: nothing that was rolled back appears */
}

/* One publish and what the worker learns of it: acknowledged, timed out (stored or not), refused for good. Rows go out
   in their order. [src/relay/batch.ts: add] [src/relay/batch.ts: decide] */
inline publishOne(who, flying, ack, fail, refuse, e) {
  d_step { first(flying, e); flying = flying & ~BIT(e) };
  if
  :: printf("worker %d publishes event %d\n", who, e); store(e); ack = ack | BIT(e)
  :: refusals > 0 -> refusals--; printf("worker %d publishes event %d, and the ack is lost\n", who, e);
       store(e); fail = fail | BIT(e)
  :: refusals > 0 -> refusals--; printf("worker %d publishes event %d, which the broker does not get\n", who, e);
       fail = fail | BIT(e)
  :: refusals > 0 && copies[e] == 0 -> refusals--; printf("the broker refuses event %d for good\n", e);
       refuse = refuse | BIT(e)
  fi;
  e = 0
}

#ifdef MARK_BEFORE_ACK
#define SETTLED(flying) true
#else
#define SETTLED(flying) (flying == 0)
#endif
/* Of a worker's two attempts the older has ended before the newer begins, so that the worker tells whose claim it is. */
#define MY_CLAIM (claim == STARTED && claimer == me)
#define CRASH (crashes > 0)
#define IN_MEMORY (stage == COLLECT || stage == RESEND)
#define FIRST_MARK (failed -> MARK_FAILED : (refused -> MARK_REFUSED : MARK_DONE))

/* ---- statements ---- */

/* [src/outbox/fence.ts: bumpFence] */
inline bumpFence(who, mine) { epoch++; mine = epoch; printf("worker %d bumps the fence: token %d\n", who, mine) }

/* [src/outbox/fence.ts: takeOver] */
inline takeOver(mine, e) {
  for (e : 0 .. N - 1) {
    if
    :: row[e] == PROCESSING && token[e] < mine && token[e] != given ->
         printf("take-over: event %d of token %d is pending again\n", e, token[e]);
         row[e] = PENDING; token[e] = 0
    :: else
    fi
  }
}

/* [src/outbox/fence.ts: reclaimLeases] */
inline reclaimLeases(e) {
#if defined(DRAIN) && !defined(NO_LEASE)
  if
  :: drainSlow ->
       for (e : 0 .. N - 1) {
         if
         :: row[e] == PROCESSING && token[e] == OUTSIDE ->
              printf("the lease of event %d is over: it is pending again\n", e); row[e] = PENDING; token[e] = 0
         :: else
         fi
       }
  :: else
  fi
#else
  skip
#endif
}

/* All that is due, as far as the batch has room [src/outbox/claim.ts: claimDue]. */
inline claimDue(mine, rows, flying, e) {
  for (e : 0 .. N - 1) {
    if
    :: rows < BATCH && DUE(e) ->
         printf("token %d claims event %d\n", mine, e);
         row[e] = PROCESSING; token[e] = mine; rows++; flying = flying | BIT(e);
#ifdef CLAIM_BY_HIGH_WATER_MARK
         mark = e + 1
#endif
    :: else
    fi
  }
  e = 0
}

/* [src/outbox/settle.ts: markDone] */
inline markDone(mine, except, e) {
  for (e : 0 .. N - 1) {
    if
#ifdef MARK_WITHOUT_TOKEN
    :: row[e] == PROCESSING && !(except & BIT(e)) ->
#else
    :: row[e] == PROCESSING && token[e] == mine && !(except & BIT(e)) ->
#endif
         printf("mark of token %d: event %d is done\n", mine, e);
         row[e] = DONE; token[e] = 0
    :: else
    fi;
    SOUND(e)                                   /* property: nothing is lost */
  }
}

/* Rows of a set to another state: markSomeDone, defer, bury, free. [src/outbox/settle.ts: markSomeDone]
   [src/outbox/settle.ts: defer] [src/outbox/settle.ts: bury] [src/outbox/settle.ts: free] */
inline settle(mine, set, to, e) {
  for (e : 0 .. N - 1) {
    if
    :: (set & BIT(e)) && row[e] == PROCESSING && token[e] == mine ->
         printf("token %d writes: event %d is %e\n", mine, e, to);
         row[e] = to; token[e] = 0
    :: else
    fi;
    SOUND(e)                                   /* property: nothing is lost */
  }
}

/* ---- processes ---- */

/*
 * The application. The ids of its three transactions are taken; they commit in any order, and the second may roll back.
 * SOON: the first and the last have committed before the relay begins, which keeps variants with faults small.
 */
active proctype Producer() {
  byte e;
  atomic {
    for (e : 0 .. N - 1) {
#ifdef DUAL_WRITE
      copies[e] = 1; printf("the application publishes event %d itself, and writes its row\n", e);
#endif
#ifdef SOON
      tx[e] = (e == 1 -> OPEN : COMMITTED);
      row[e] = (e == 1 -> ABSENT : PENDING)
#else
      tx[e] = OPEN;
      row[e] = ABSENT
#endif
    }
    e = 0;
    ready = true
  };
end:
  do
  :: atomic { tx[0] == OPEN -> tx[0] = COMMITTED; row[0] = PENDING; printf("the application commits event 0\n") }
  :: atomic { tx[1] == OPEN -> tx[1] = COMMITTED; row[1] = PENDING; printf("the application commits event 1\n") }
  :: atomic { tx[1] == OPEN ->
       tx[1] = ROLLED_BACK; printf("the application rolls event 1 back\n");
       assert(copies[1] == 0)                   /* property: nothing that was rolled back appears */ }
  :: atomic { tx[2] == OPEN -> tx[2] = COMMITTED; row[2] = PENDING; printf("the application commits event 2\n") }
  od
}

/* Asks for a claim whenever none is outstanding and a batch more may be open [src/workflows/relay.ts: pass]. */
active proctype Relay() {
end:
  do
  :: d_step { claim == NONE && ready ->
       claim = SCHEDULED; again = false; given = open;
       /* Tokens are compared with each other only: when nobody has one, counting from 0 again changes nothing. */
       if
       :: open == 0 && held[0] == 0 && held[1] == 0 && lateToken == 0 &&
          !WITH_TOKEN(0) && !WITH_TOKEN(1) && !WITH_TOKEN(2) -> epoch = 0
       :: else
       fi }
  od
}

/* One attempt of the claim activity in a worker [src/activities/relay.ts: claim] [src/relay/collect.ts: collect]. */
active [W] proctype Claimer() {
  bool retry;
  byte me = _pid - 2, rows, flying, ack, fail, refuse, e;
idle:
  atomic { held[me] = 0; retry = false; rows = 0; flying = 0; ack = 0; fail = 0; refuse = 0; e = 0 };
end:
  if
  /* The workers are alike: the first is the one that begins. */
  :: d_step { claim == SCHEDULED && (epoch > 0 || me == 0) ->
       claim = STARTED; claimer = me; retry = again; printf("worker %d begins a claim\n", me) }
  :: atomic { CRASH && holder == me && IN_MEMORY -> crashes--; goto crashed }
  fi;
  if
  :: d_step { bumpFence(me, held[me]) }
  :: atomic { CRASH -> crashes--; goto crashed }
  fi;
  if
  :: atomic { untidy || retry -> skip };
#ifndef NO_TAKE_OVER
     d_step { takeOver(held[me], e); e = 0 };
#endif
     d_step { reclaimLeases(e); e = 0 }
  :: else
  fi;
  do
  :: d_step { epoch == held[me] && rows < BATCH && ANY_DUE -> claimDue(held[me], rows, flying, e) }
  :: atomic { flying != 0 -> publishOne(me, flying, ack, fail, refuse, e) }
  :: atomic { epoch != held[me] -> goto superseded }
  :: atomic { CRASH -> crashes--; goto crashed }
  /* The slice is over, or the batch full. The workflow opens it, unless it has given this attempt up. */
  :: d_step { rows > 0 && MY_CLAIM && open == 0 ->
       claim = NONE; untidy = false;
       open = held[me]; stage = COLLECT; holder = me; gone = false;
       inflight = flying; acked = ack; failed = fail; refused = refuse;
       printf("worker %d returns its batch, token %d\n", me, held[me]) };
     goto idle
  :: d_step { rows > 0 && !MY_CLAIM -> stray[me] = stray[me] | flying; printf("worker %d returns token %d, which nobody asks for any more\n", me, held[me]) };
     goto idle
  /* The long poll is over with nothing found. It ends every minute; only when the next claim would find something to
     tidy does that change more than numbers. */
  :: d_step { rows == 0 && MY_CLAIM && epoch == held[me] && !ANY_DUE && TO_TIDY(held[me]) ->
       claim = NONE; untidy = true; printf("the long poll of worker %d is over\n", me) };
     goto idle
  od;
superseded:
  /* A newer claim has begun: what is acknowledged is done, the rest is free [src/relay/write.ts: releaseBatch]. */
  atomic { settle(held[me], ack, DONE, e); e = 0 };
  if
  :: d_step { settle(held[me], 7 & ~ack, PENDING, e); e = 0; stray[me] = stray[me] | flying;
       if
       :: MY_CLAIM -> claim = NONE; untidy = false                                       /* the result: ended */
       :: else
       fi }
  :: atomic { CRASH -> crashes--; goto crashed }
  fi;
  goto idle;
crashed:
  /* The process is killed with all that it had in memory. */
  atomic {
    stray[me] = 0; printf("worker %d is killed\n", me);
    if
    :: holder == me && IN_MEMORY -> gone = true; inflight = 0
    :: else
    fi;
    if
    :: MY_CLAIM -> claim = SCHEDULED; again = true
    :: else
    fi
  };
  goto idle
}

/* From a batch to its end, beside the next claim; each stage is an activity that is tried until it succeeds
   [src/workflows/relay.ts: settle]. */
active proctype Settler() {
  byte e;
end:
  do
  /* Outcomes, on the worker that claimed [src/activities/relay.ts: publish]. */
  :: atomic { stage == COLLECT && !gone && inflight != 0 ->
       publishOne(holder, inflight, acked, failed, refused, e) }
  :: d_step { IN_MEMORY && !gone && SETTLED(inflight) -> stage = FIRST_MARK }
  /* Its worker is gone, or is taken for gone: another reads the rows by their token [src/outbox/claim.ts: readClaimed]. */
  :: d_step { stage == COLLECT && gone -> stage = AGAIN }
  :: d_step { IN_MEMORY && !gone && freezes > 0 ->
       freezes--; printf("worker %d is taken for lost while it publishes\n", holder);
       stray[holder] = stray[holder] | inflight; stage = AGAIN }
  :: d_step { stage == RESEND && gone -> stage = AGAIN }
  :: d_step { stage == AGAIN ->
       holder = 1 - holder; gone = false;
       inflight = 0; acked = 0; failed = 0; refused = 0;
       for (e : 0 .. N - 1) {
         if
         :: row[e] == PROCESSING && token[e] == open -> inflight = inflight | BIT(e)
         :: else
         fi
       }
       e = 0; stage = RESEND; printf("worker %d reads the rows of token %d and publishes them again\n", holder, open) }
  :: atomic { stage == RESEND && !gone && inflight != 0 ->
       publishOne(holder, inflight, acked, failed, refused, e) }
  /* The mark: one statement for each kind of outcome; a second time finds nothing left [src/relay/write.ts: writeOutcome]. */
  :: d_step { stage == MARK_FAILED -> settle(open, failed, PENDING, e); e = 0; stage = (refused -> MARK_REFUSED : MARK_DONE) }
  :: d_step { stage == MARK_REFUSED -> settle(open, refused, DEAD, e); e = 0; stage = MARK_DONE }
  :: d_step { stage == MARK_DONE && freezes > 0 && lateToken == 0 ->       /* taken for lost, and tried again */
       freezes--; printf("the mark of token %d is taken for lost\n", open); lateToken = open; lateFailed = failed | refused; stage = FIRST_MARK }
  :: d_step { stage == MARK_DONE ->
       if
       :: (acked | inflight) != 0 -> markDone(open, failed | refused, e)
       :: else
       fi;
       e = 0; open = 0; stage = FREE; holder = 0; gone = false;
       inflight = 0; acked = 0; failed = 0; refused = 0 }
  od
}

/* What was taken for lost and goes on: publishes of a frozen worker, the last statement of its mark. */
active proctype Late() {
  byte e;
end:
  do
  :: d_step { stray[0] != 0 -> first(stray[0], e); stray[0] = stray[0] & ~BIT(e);
       printf("worker 0 goes on, and publishes event %d\n", e); store(e); e = 0 }
  :: d_step { stray[1] != 0 -> first(stray[1], e); stray[1] = stray[1] & ~BIT(e);
       printf("worker 1 goes on, and publishes event %d\n", e); store(e); e = 0 }
  :: d_step { lateToken != 0 -> printf("the late mark of token %d goes on\n", lateToken);
       markDone(lateToken, lateFailed, e); e = 0; lateToken = 0; lateFailed = 0 }
  od
}

/* Temporal takes a claim for lost that goes on, and asks another worker. */
active proctype Frozen() {
end:
  do
  :: d_step { freezes > 0 && claim == STARTED ->
       freezes--; claim = SCHEDULED; again = true; printf("worker %d is taken for lost while it claims\n", claimer) }
  od
}

#ifdef DRAIN
/* One pass outside the fence; its rows have no other guard than the lease [src/outbox/drain.ts: drainOnce]. */
active proctype Drain() {
  byte rows, flying, ack, fail, refuse, e;
end:
  d_step { ready && ANY_DUE -> printf("drainOnce claims\n"); claimDue(OUTSIDE, rows, flying, e) };
  do
  :: atomic { flying != 0 -> publishOne(9, flying, ack, fail, refuse, e) }
  :: atomic { flying == 0 -> break }
  :: atomic { CRASH -> crashes--; goto killed }
  :: d_step { freezes > 0 -> freezes--; drainSlow = true; printf("drainOnce stands still for longer than its lease\n") }
  od;
  if
  :: atomic { settle(OUTSIDE, ack, DONE, e); e = 0 }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
  if
  :: atomic { settle(OUTSIDE, refuse, DEAD, e); e = 0; settle(OUTSIDE, fail, PENDING, e); e = 0; goto ended }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
killed:
  atomic { drainSlow = true; printf("drainOnce is killed, and its lease ends\n") };
ended:
  skip
}
#endif

/* Nothing can happen any more: every event that was committed is in the stream or a dead letter, and no row is owned by
   nobody. */
active proctype Quiet() {
  byte e;
  timeout ->
    printf("nothing can happen any more\n");
    for (e : 0 .. N - 1) {
      assert(tx[e] != COMMITTED || row[e] == DONE || row[e] == DEAD);    /* property: every event ends done or dead */
      assert(row[e] != DONE || copies[e] == 1);                          /* property: nothing is lost */
      assert(tx[e] == COMMITTED || copies[e] == 0)                       /* property: nothing that was rolled back appears */
    }
}
