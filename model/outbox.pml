/*
 * Model 1 of 2: from the commit of an event to the stream. Claim, fence, take-over, eager publishing, publishing again,
 * mark, and drainOnce beside them. docs/reliability.md explains it; `npm run model` checks it.
 *
 * A file and a name in square brackets are the function that a step stands for; model.test.ts sees to it that it
 * exists. One SQL statement is one atomic or d_step: PostgreSQL runs it whole or not at all, and the fence row orders
 * a claim statement and a bump. Between any two steps all others may come in, which also stands for any delay.
 *
 * -D picks the variant. Size and faults:
 *   EVENTS    3 or 2
 *   RELAYS    1; or 2 runs at the same fence, each with a worker of its own, as from two Temporal namespaces
 *   TURNS     claims that the second run asks for: two that end each other's claims for ever have too many states
 *   CRASHES   worker processes killed, at any step; each comes back with nothing in memory
 *   FREEZES   activities that Temporal takes for lost while they go on (frozen, or cut off from Temporal)
 *   REFUSALS  publishes that have no ack, of which the broker may have stored the message or not
 *   TERMINATIONS  a run is terminated and another started in its place, while its activities go on
 *   DRAIN     a drainOnce runs beside the relay, and may die or be slower than its lease
 * Mutants, each a build with one thing left out: MARK_WITHOUT_TOKEN, CLAIM_BY_HIGH_WATER_MARK, PUBLISH_WITHOUT_ID,
 *   MARK_BEFORE_ACK, NO_TAKE_OVER, NO_LEASE, DUAL_WRITE, FENCE_OF_EACH_RUN.
 */
#define N EVENTS
#define W 2
#define R RELAYS
#define BATCH 2                  /* rows of one claim */

mtype:tx = { OPEN, COMMITTED, ROLLED_BACK };
mtype:row = { ABSENT, PENDING, PROCESSING, DONE, DEAD };
mtype:activity = { NONE, SCHEDULED, STARTED };
mtype:stage = { FREE, COLLECT, AGAIN, RESEND, MARK_FAILED, MARK_REFUSED, MARK_DONE };

/* ---- PostgreSQL ---- */
mtype:tx tx[N];
mtype:row row[N];               /* event_queue.status; deferred is PENDING here, as time is anything */
byte token[N];                   /* event_queue.claim_token; 0 is null */
#ifdef FENCE_OF_EACH_RUN
byte epoch[R];
#define EPOCH epoch[r]
#else
byte epoch[1];                   /* relay_fence */
#define EPOCH epoch[0]
#endif
#define OUTSIDE 200              /* drainOnce: a token outside the fence */

/* ---- the stream ---- */
byte copies[N];                  /* messages in it with this event id, all within the duplicate window */

/* ---- a relay run, which Temporal keeps whatever happens to workers [src/workflows/relay.ts: relay] ---- */
mtype:activity claim[R];         /* the one claim that is outstanding */
bool again[R];                   /* this is not its first attempt */
byte claimer[R];                 /* the worker that runs it */
bool untidy[R];                  /* the next claim takes over what is left behind */
byte given[R];                   /* openTokens in its request */
byte open[R];                    /* token of the batch that is being settled beside it; 0 for none */
mtype:stage stage[R];
byte holder[R];                  /* the worker whose memory has the batch */
bool gone[R];                    /* that memory is lost */
byte inflight[R], acked[R], failed[R], refused[R];    /* of the batch: rows as bits */
byte lateToken[R], lateFailed[R];                     /* a mark that was taken for lost and goes on */

/* ---- workers ---- */
byte held[W];                    /* token of its claim attempt, 0 for none */
byte stray[W];                   /* published by nobody's order any more: a frozen worker that goes on */

bool ready;
byte crashes = CRASHES, freezes = FREEZES, refusals = REFUSALS, terminations = TERMINATIONS;
byte turns = TURNS;              /* claims that the second run will ask for yet */
#ifdef DRAIN
bool drainSlow;                  /* its lease is over */
#endif
#ifdef CLAIM_BY_HIGH_WATER_MARK
byte mark;                       /* the highest id seen, and one */
#define BEHIND(e) (e < mark)
#else
#define BEHIND(e) false
#endif

#define BIT(e) (1 << (e))
#define DUE(e) (row[e] == PENDING && !BEHIND(e))
#define ANY_DUE (DUE(0) || DUE(1) || DUE(N - 1))
#define OPENED(t) (t == open[r])
#define LEFT(e, mine) (row[e] == PROCESSING && token[e] != OUTSIDE && token[e] != mine && !OPENED(token[e]))
#ifdef NO_TAKE_OVER
#define LEFT_BEHIND(mine) false
#else
#define LEFT_BEHIND(mine) (LEFT(0, mine) || LEFT(1, mine) || LEFT(N - 1, mine))
#endif
#if defined(DRAIN) && !defined(NO_LEASE)
#define OVERDUE (drainSlow && (token[0] == OUTSIDE || token[1] == OUTSIDE || token[N - 1] == OUTSIDE))
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
#define MY_CLAIM (claim[r] == STARTED && claimer[r] == me)
#define CRASH (crashes > 0)
#define IN_MEMORY (stage[r] == COLLECT || stage[r] == RESEND)
#define REMEMBERS(i) (holder[i] == me && (stage[i] == COLLECT || stage[i] == RESEND))
#define FORGETS(i) if :: REMEMBERS(i) -> gone[i] = true; inflight[i] = 0 :: else fi
#define FIRST_MARK (failed[r] -> MARK_FAILED : (refused[r] -> MARK_REFUSED : MARK_DONE))

/* ---- statements ---- */

/*
 * Tokens are compared with each other only, and one that no row has can never come to have one again, unless it is the
 * newest. So those are made one, and at each bump the others are counted anew. Else a fence that goes up for ever would
 * have no end of states.
 */
#define PAST 250
#define OF_ROW(v) (token[0] == v || token[1] == v || token[N - 1] == v)
#define RETIRE(x, to) if :: x != 0 && x != epoch[0] && !OF_ROW(x) -> x = to :: else fi
#define LESS(x) x = x - (x > v && x < OUTSIDE -> 1 : 0)
inline renumber(v) {
  RETIRE(held[0], PAST); RETIRE(held[1], PAST);
  RETIRE(open[0], PAST); RETIRE(given[0], 0); RETIRE(lateToken[0], 0);
#if RELAYS > 1
  RETIRE(open[1], PAST); RETIRE(given[1], 0); RETIRE(lateToken[1], 0);
#endif
  v = 1;
  do
  :: v < epoch[0] && OF_ROW(v) -> v++
  :: v < epoch[0] && !OF_ROW(v) ->
       LESS(token[0]); LESS(token[1]); LESS(held[0]); LESS(held[1]); LESS(open[0]); LESS(given[0]); LESS(lateToken[0]);
#if EVENTS > 2
       LESS(token[2]);
#endif
#if RELAYS > 1
       LESS(open[1]); LESS(given[1]); LESS(lateToken[1]);
#endif
       epoch[0]--
  :: else -> break
  od;
  v = 0
}
#ifdef FENCE_OF_EACH_RUN
#define RENUMBER(v) skip
#define ANY_EPOCH (epoch[0] > 0 || epoch[R - 1] > 0)
#else
#define RENUMBER(v) renumber(v)
#define ANY_EPOCH (epoch[0] > 0)
#endif

/* [src/outbox/fence.ts: bumpFence] */
inline bumpFence(who, mine, v) {
  EPOCH++; mine = EPOCH; RENUMBER(v); printf("worker %d bumps the fence: token %d\n", who, mine)
}

/* [src/outbox/fence.ts: takeOver] */
inline takeOver(mine, e) {
  for (e : 0 .. N - 1) {
    if
    :: row[e] == PROCESSING && token[e] < mine && token[e] != given[r] ->
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
    for (e : 0 .. R - 1) { claim[e] = NONE; stage[e] = FREE; untidy[e] = true }
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
#if EVENTS > 2
  :: atomic { tx[2] == OPEN -> tx[2] = COMMITTED; row[2] = PENDING; printf("the application commits event 2\n") }
#endif
  od
}

/* Asks for a claim whenever none is outstanding [src/workflows/relay.ts: pass]. */
active [R] proctype Relay() {
  byte r = _pid - 1;
end:
  do
  :: d_step { claim[r] == NONE && ready && (r == 0 || turns > 0) ->
       turns = turns - r; claim[r] = SCHEDULED; again[r] = false; given[r] = open[r] }
  od
}

/* The workers are alike: the first is the one that begins. Either takes the claims of the one run, of two each those of its
   own. */
#if RELAYS > 1
#define SERVES(i) (me == i)
#define SUCCESSOR holder[r]
#else
#define SERVES(i) true
#define SUCCESSOR (1 - holder[r])
#endif
#define BEGIN_CLAIM(i) \
  :: d_step { claim[i] == SCHEDULED && SERVES(i) && (me == 0 || ANY_EPOCH) -> \
       r = i; claim[r] = STARTED; claimer[r] = me; retry = again[r]; printf("worker %d begins a claim of run %d\n", me, r) }
/* One attempt of the claim activity in a worker [src/activities/relay.ts: claim] [src/relay/collect.ts: collect]. */
active [W] proctype Claimer() {
  bool retry;
  byte me = _pid - 1 - R, r, rows, flying, ack, fail, refuse, e;
idle:
  atomic { held[me] = 0; retry = false; r = 0; rows = 0; flying = 0; ack = 0; fail = 0; refuse = 0; e = 0 };
end:
  if
  BEGIN_CLAIM(0)
#if RELAYS > 1
  BEGIN_CLAIM(1)
#endif
  :: atomic { CRASH && (REMEMBERS(0) || REMEMBERS(R - 1)) -> crashes--; goto crashed }
  fi;
  if
  :: d_step { bumpFence(me, held[me], e) }
  :: atomic { CRASH -> crashes--; goto crashed }
  fi;
  if
  /* Or it is a while since the last time, which only matters where something is left behind. */
  :: atomic { untidy[r] || retry || LEFT_BEHIND(held[me]) -> skip };
#ifndef NO_TAKE_OVER
     d_step { takeOver(held[me], e); e = 0 };
#endif
     d_step { reclaimLeases(e); e = 0 }
  :: atomic { !untidy[r] && !retry -> skip }
  fi;
  do
  :: d_step { EPOCH == held[me] && rows < BATCH && ANY_DUE -> claimDue(held[me], rows, flying, e) }
  :: atomic { flying != 0 -> publishOne(me, flying, ack, fail, refuse, e) }
  /* It is told by its next statement; one that would find nothing changes nothing but numbers. */
  :: atomic { EPOCH != held[me] && (rows > 0 || ANY_DUE || LEFT_BEHIND(held[me])) -> goto superseded }
  :: atomic { CRASH -> crashes--; goto crashed }
  /* The slice is over, or the batch full. The workflow opens it, unless it has given this attempt up. */
  :: d_step { rows > 0 && MY_CLAIM && open[r] == 0 ->
       claim[r] = NONE; given[r] = 0; untidy[r] = false;
       open[r] = held[me]; stage[r] = COLLECT; holder[r] = me; gone[r] = false;
       inflight[r] = flying; acked[r] = ack; failed[r] = fail; refused[r] = refuse;
       printf("worker %d returns its batch, token %d\n", me, held[me]) };
     goto idle
  :: d_step { rows > 0 && !MY_CLAIM -> stray[me] = stray[me] | flying; printf("worker %d returns token %d, which nobody asks for any more\n", me, held[me]) };
     goto idle
  /* The long poll is over with nothing found. It ends every minute; only when the next claim would find something to
     tidy does that change more than numbers. */
  :: d_step { rows == 0 && MY_CLAIM && EPOCH == held[me] && !ANY_DUE && TO_TIDY(held[me]) ->
       claim[r] = NONE; given[r] = 0; untidy[r] = true; printf("the long poll of worker %d is over\n", me) };
     goto idle
  od;
superseded:
  /* A newer claim has begun: what is acknowledged is done, the rest is free [src/relay/write.ts: releaseBatch]. */
  atomic { settle(held[me], ack, DONE, e); e = 0 };
  if
  :: d_step { settle(held[me], 7 & ~ack, PENDING, e); e = 0; stray[me] = stray[me] | flying;
       if
       :: MY_CLAIM -> claim[r] = NONE; given[r] = 0; untidy[r] = false                    /* the result: ended */
       :: else
       fi }
  :: atomic { CRASH -> crashes--; goto crashed }
  fi;
  goto idle;
crashed:
  /* The process is killed with all that it had in memory. */
  atomic {
    stray[me] = 0; printf("worker %d is killed\n", me);
    FORGETS(0);
#if RELAYS > 1
    FORGETS(1);
#endif
    if
    :: MY_CLAIM -> claim[r] = SCHEDULED; again[r] = true
    :: else
    fi
  };
  goto idle
}

/* From a batch to its end, beside the next claim; each stage is an activity that is tried until it succeeds
   [src/workflows/relay.ts: settle]. */
active [R] proctype Settler() {
  byte r = _pid - 1 - R - W, e;
end:
  do
  /* Outcomes, on the worker that claimed [src/activities/relay.ts: publish]. */
  :: atomic { stage[r] == COLLECT && !gone[r] && inflight[r] != 0 ->
       publishOne(holder[r], inflight[r], acked[r], failed[r], refused[r], e) }
  :: d_step { IN_MEMORY && !gone[r] && SETTLED(inflight[r]) -> stage[r] = FIRST_MARK }
  /* Its worker is gone, or is taken for gone: another reads the rows by their token [src/outbox/claim.ts: readClaimed]. */
  :: d_step { stage[r] == COLLECT && gone[r] -> stage[r] = AGAIN }
  :: d_step { IN_MEMORY && !gone[r] && freezes > 0 ->
       freezes--; printf("worker %d is taken for lost while it publishes\n", holder[r]);
       stray[holder[r]] = stray[holder[r]] | inflight[r]; stage[r] = AGAIN }
  :: d_step { stage[r] == RESEND && gone[r] -> stage[r] = AGAIN }
  :: d_step { stage[r] == AGAIN ->
       holder[r] = SUCCESSOR; gone[r] = false;
       inflight[r] = 0; acked[r] = 0; failed[r] = 0; refused[r] = 0;
       for (e : 0 .. N - 1) {
         if
         :: row[e] == PROCESSING && token[e] == open[r] -> inflight[r] = inflight[r] | BIT(e)
         :: else
         fi
       }
       e = 0; stage[r] = RESEND; printf("worker %d reads the rows of token %d and publishes them again\n", holder[r], open[r]) }
  :: atomic { stage[r] == RESEND && !gone[r] && inflight[r] != 0 ->
       publishOne(holder[r], inflight[r], acked[r], failed[r], refused[r], e) }
  /* The mark: one statement for each kind of outcome; a second time finds nothing left [src/relay/write.ts: writeOutcome]. */
  :: d_step { stage[r] == MARK_FAILED -> settle(open[r], failed[r], PENDING, e); e = 0; stage[r] = (refused[r] -> MARK_REFUSED : MARK_DONE) }
  :: d_step { stage[r] == MARK_REFUSED -> settle(open[r], refused[r], DEAD, e); e = 0; stage[r] = MARK_DONE }
  :: d_step { stage[r] == MARK_DONE && freezes > 0 && lateToken[r] == 0 ->       /* taken for lost, and tried again */
       freezes--; printf("the mark of token %d is taken for lost\n", open[r]); lateToken[r] = open[r]; lateFailed[r] = failed[r] | refused[r]; stage[r] = FIRST_MARK }
  :: d_step { stage[r] == MARK_DONE ->
       if
       :: (acked[r] | inflight[r]) != 0 -> markDone(open[r], failed[r] | refused[r], e)
       :: else
       fi;
       e = 0; open[r] = 0; stage[r] = FREE; holder[r] = 0; gone[r] = false;
       inflight[r] = 0; acked[r] = 0; failed[r] = 0; refused[r] = 0 }
  od
}

#define LATE_MARK(i) \
  :: d_step { lateToken[i] != 0 -> printf("the late mark of token %d goes on\n", lateToken[i]); \
       markDone(lateToken[i], lateFailed[i], e); e = 0; lateToken[i] = 0; lateFailed[i] = 0 }
/* What was taken for lost and goes on: publishes of a frozen worker, the last statement of its mark. */
active proctype Late() {
  byte e;
end:
  do
  :: d_step { stray[0] != 0 -> first(stray[0], e); stray[0] = stray[0] & ~BIT(e);
       printf("worker 0 goes on, and publishes event %d\n", e); store(e); e = 0 }
  :: d_step { stray[1] != 0 -> first(stray[1], e); stray[1] = stray[1] & ~BIT(e);
       printf("worker 1 goes on, and publishes event %d\n", e); store(e); e = 0 }
  LATE_MARK(0)
#if RELAYS > 1
  LATE_MARK(1)
#endif
  od
}

#define FREEZE_CLAIM(i) \
  :: d_step { freezes > 0 && claim[i] == STARTED -> \
       freezes--; claim[i] = SCHEDULED; again[i] = true; printf("worker %d is taken for lost while it claims\n", claimer[i]) }
/* Temporal takes a claim for lost that goes on, and asks another worker. */
active proctype Frozen() {
end:
  do
  FREEZE_CLAIM(0)
#if RELAYS > 1
  FREEZE_CLAIM(1)
#endif
  od
}

/* A run is terminated, and a worker starts another; what the old one has asked for goes on, and nobody waits for it. */
active proctype Operator() {
end:
  do
  :: d_step { terminations > 0 && ready && (claim[0] != NONE || open[0] != 0) ->
       terminations--; printf("run 0 is terminated, and another starts in its place\n");
       if
       :: (stage[0] == COLLECT || stage[0] == RESEND) && !gone[0] -> stray[holder[0]] = stray[holder[0]] | inflight[0]
       :: stage[0] == MARK_FAILED || stage[0] == MARK_REFUSED || stage[0] == MARK_DONE ->
            lateToken[0] = open[0]; lateFailed[0] = failed[0] | refused[0]
       :: else
       fi;
       claim[0] = NONE; again[0] = false; untidy[0] = true; given[0] = 0; open[0] = 0; stage[0] = FREE;
       holder[0] = 0; gone[0] = false; inflight[0] = 0; acked[0] = 0; failed[0] = 0; refused[0] = 0 }
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
