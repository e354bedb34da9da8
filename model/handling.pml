/*
 * Model 2 of 2: from the stream to the effect. Delivery by the broker, ledger claim, handler, hand-over, delivery run,
 * sweep and graveyard. docs/reliability.md explains it and what lies between the two models; `npm run model` checks it.
 *
 * A file and a name in square brackets are the function that a step stands for. Statements that read by their snapshot
 * and write what has changed since are two steps here, as they are in PostgreSQL.
 *
 * Tokens: `started_at` is never given out twice, so all that matters of a remembered one is whether it is still the
 * row's. `own` holds that as a bit for each worker; whoever writes a new claim, or removes one, clears all others.
 *
 * -D picks the variant. Size, kind and faults:
 *   EVENTS         1 or 3, each with one handler
 *   TRANSACTIONAL  effect and ledger commit together; otherwise the effect is outside the database
 *   CRASHES        workers killed, at any step
 *   FREEZES        workers that stand still for as long as anything takes, and then go on
 *   FAILURES       handlers that throw
 *   LOST_COMMITS   PostgreSQL is killed, and has forgotten the claim of a transactional handler (ADR 0013)
 *   ORDERS         runs terminated and dead letters re-emitted, by an operator
 * Mutants: ACK_BEFORE_HAND_OVER, LEDGER_WITHOUT_OWNER, LEDGER_WITHOUT_STARTED_AT, NO_ASK_AGAIN, NO_SWEEP, NO_LEASE,
 *   LEASE_TOO_SHORT, NO_GRAVEYARD, FINISH_BEFORE_EFFECT, NO_EXPECTED_ATTEMPTS, LOST_WORKER_SPENDS_NOTHING.
 *   LOST_COMMIT_NOT_EXCUSED and STALE_SNAPSHOT_NOT_EXCUSED show what is not guaranteed.
 */
#define N EVENTS
#define MAX_DELIVER 2
#define MAX_ATTEMPTS 2
#define BIT(s) (1 << (s))

mtype:message = { NEW, OUT, SPENT, ACKED };
mtype:ledger = { NONE, BUSY, FINISHED };
mtype:delivery = { NO, WAITING, BURIED };
mtype:attempt = { IDLE, ASKED, STARTED };

/* ---- the durable consumer ---- */
mtype:message message[N];
byte tries[N];                   /* deliveries */
byte holders[N];                 /* workers that have it in hand, as bits */

/* ---- PostgreSQL ---- */
mtype:ledger ledger[N];          /* processed_events */
byte own[N];                     /* workers whose remembered started_at is the row's */
byte busyBy[N];                  /* who renews the lease */
#define NOBODY 9
bool over[N];                    /* the lease is */
bool relaxed[N];                 /* the claim need not be on disk yet */
mtype:delivery delivery[N];      /* deliveries */
byte attempts[N];
byte effects[N];
bool early[N];                   /* next_at is ahead: nobody who knows of the last failure has waited for it */
byte budget[N];                  /* attempts that may still begin */

/* ---- Temporal ---- */
bool opened[N];                  /* deliver/<event_id> is open */
byte known[N];                   /* attempts spent, as it knows; an attempt is asked for with that number */
mtype:attempt asked[N];          /* its activity */
byte askedOf[N];

/* ---- workers: 0 and 1 receive, 2 and 3 run attempts of delivery runs ---- */
bool asleep[4], atWork[4];
byte running[N];                 /* whose handler is between its beginning and its end, as bits */
byte excused[N];                 /* who stood still for longer than its lease, or whose claim PostgreSQL lost */

byte crashes = CRASHES, freezes = FREEZES, failures = FAILURES, lost = LOST_COMMITS, orders = ORDERS;

#define AWAKE ((asleep[0] -> 0 : 1) | (asleep[1] -> 0 : 2))
#define CRASH (crashes > 0)
#if defined(LEDGER_WITHOUT_OWNER)
#define OURS(e, s) (ledger[e] != NONE)
#elif defined(LEDGER_WITHOUT_STARTED_AT)
#define OURS(e, s) (ledger[e] == BUSY)
#else
#define OURS(e, s) (ledger[e] == BUSY && (own[e] & BIT(s)))
#endif
#ifdef LOST_COMMIT_NOT_EXCUSED
#define FORGIVEN false
#else
#define FORGIVEN true
#endif
#ifdef LOST_WORKER_SPENDS_NOTHING
#define LOST_ATTEMPT 0
#else
#define LOST_ATTEMPT 1
#endif
#define LIVE(e) (ledger[e] == BUSY && !over[e])

/* Nobody awake has it in hand, and says working() for it. */
#define AGAIN(e) (message[e] == OUT && (holders[e] & AWAKE) == 0)
#define FIRST(e) (message[e] == NEW && (e == 0 || message[e - 1 + (e == 0)] != NEW))

/* Each claim is entered once at most, so claims bound the entries. */
inline insertClaim(e, s) {
  assert(budget[e] > 0);                       /* property: no more attempts than the budget */
  budget[e]--;
  ledger[e] = BUSY; own[e] = BIT(s); busyBy[e] = s; over[e] = false; excused[e] = excused[e] & ~BIT(s)
}

/*
 * A claim of the fast path costs no attempt when its statement's snapshot is older than another worker's hand-over: it is
 * inserted although a delivery waits by now.
 */
#ifdef STALE_SNAPSHOT_NOT_EXCUSED
#define UNCOUNTED(e) skip
#else
#define UNCOUNTED(e) if :: delivery[e] != NO -> budget[e]++ :: else fi
#endif

inline removeClaim(e) { ledger[e] = NONE; own[e] = 0; busyBy[e] = NOBODY; over[e] = false; relaxed[e] = false }

inline finishClaim(e) {
  ledger[e] = FINISHED; own[e] = 0; busyBy[e] = NOBODY; over[e] = false; relaxed[e] = false;
  budget[e] = MAX_ATTEMPTS                     /* never asked again, so one number will do */
}

/* Signal-with-start: a run that is there already takes no notice [src/handlers/runStarts.ts: start]. */
inline startRun(e, told) {
  if
  :: delivery[e] != BURIED && !opened[e] -> opened[e] = true; asked[e] = ASKED; known[e] = told
  :: else
  fi
}

/* The handler begins [src/handlers/runHandler.ts: runHandler]. */
inline enter(e, s) {
  printf("worker %d runs the handler of event %d\n", s, e);
  assert((excused[e] & BIT(s)) || (running[e] & ~excused[e]) == 0);     /* property: no handler runs twice at the same time */
  running[e] = running[e] | BIT(s)
}

inline leave(e, s) { running[e] = running[e] & ~BIT(s); excused[e] = excused[e] & ~BIT(s) }

inline haveEffect(e) {
  effects[e]++;
#ifdef TRANSACTIONAL
  assert(effects[e] <= 1)                      /* property: a transactional effect happens once */
#endif
}

inline die(e, s) {
  printf("worker %d is killed\n", s);
  for (e : 0 .. N - 1) {
    leave(e, s);
    holders[e] = holders[e] & ~BIT(s);
    own[e] = own[e] & ~BIT(s);
    if
    :: busyBy[e] == s -> busyBy[e] = NOBODY
    :: else
    fi;
    if
    :: asked[e] == STARTED && askedOf[e] == s -> asked[e] = ASKED
    :: else
    fi
  }
  e = 0; atWork[s] = false
}

inline acknowledge(e, s) {
  printf("worker %d acknowledges event %d\n", s, e);
  message[e] = ACKED; holders[e] = holders[e] & ~BIT(s)
}

#define TAKE \
    tries[e]++; holders[e] = holders[e] | BIT(_pid); atWork[_pid] = true; printf("worker %d receives event %d\n", _pid, e)
#define RECEIVE(i) \
  :: atomic { FIRST(i) && (i > 0 || _pid == 0) -> e = i; message[e] = OUT; TAKE; goto claim } \
  :: atomic { AGAIN(i) && tries[i] < MAX_DELIVER && !(holders[i] & BIT(_pid)) -> e = i; TAKE; goto claim }

/* A worker that pulls [src/consumer/receive.ts: receive] and handles on the fast path [src/handlers/fastPath.ts: handle]. */
active [2] proctype Receiver() provided (!asleep[_pid]) {
  byte e, spent, told;
  mtype:ledger saw;
  bool sawDelivery, sawOver, withToken;
#define me _pid
idle:
  atomic { e = 0; spent = 0; told = 0; saw = NONE; sawDelivery = false; sawOver = false; withToken = false; atWork[me] = false };
end:
  if
  RECEIVE(0)
#if EVENTS > 1
  RECEIVE(1)
  RECEIVE(2)
#endif
  fi;
claim:
  /* The statement's snapshot, and a little later its insert [src/ledger/claim.ts: claimLedger] [src/handlers/lane.ts: begin]. */
  if
  :: atomic { saw = ledger[e]; sawDelivery = delivery[e] != NO; told = (sawDelivery -> attempts[e] : 0); sawOver = over[e];
       if
       :: saw == BUSY -> own[e] = own[e] | (sawOver -> BIT(me) : 0)
       :: else
       fi }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
  atomic {
    if
    :: !sawDelivery && ledger[e] == NONE ->
         UNCOUNTED(e);
         insertClaim(e, me);
#ifdef TRANSACTIONAL
         relaxed[e] = true;
#endif
         printf("worker %d claims event %d in the ledger\n", me, e); goto handle
    :: else
    fi;
    /* [src/ledger/claim.ts: verdictOf] [src/handlers/lane.ts: pass] */
    if
    :: saw == FINISHED -> goto settle
    :: saw != FINISHED && sawDelivery -> goto start
    :: saw == NONE && !sawDelivery -> withToken = false; spent = 0
    :: saw == BUSY && !sawDelivery && !sawOver -> withToken = false; spent = 0
    :: saw == BUSY && !sawDelivery && sawOver -> withToken = true; spent = LOST_ATTEMPT
    fi
  };
  goto handOver;
handle:
  if
  :: atomic { enter(e, me) }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
  if
  :: atomic { failures > 0 -> failures--; leave(e, me); withToken = true; spent = 1;
       printf("worker %d: the handler of event %d throws\n", me, e); goto handOver }
#ifdef TRANSACTIONAL
  /* [src/handlers/transaction.ts: finishOrRollBack] [src/ledger/finish.ts: finishLedger] */
  :: atomic { leave(e, me);
       if
       :: OURS(e, me) -> finishClaim(e); haveEffect(e); printf("worker %d commits event %d\n", me, e); goto settle
       :: else -> printf("worker %d rolls event %d back: its claim is gone\n", me, e)
       fi;
       /* [src/ledger/read.ts: readClaim] [src/handlers/transactionalLane.ts: again] */
       if
       :: ledger[e] == FINISHED -> goto settle
       :: else -> goto notOurs
       fi }
#else
#ifdef FINISH_BEFORE_EFFECT
  :: atomic { OURS(e, me) -> finishClaim(e) };
     if
     :: atomic { haveEffect(e); leave(e, me); goto settle }
     :: atomic { CRASH -> crashes--; goto killed }
     fi
#endif
  :: atomic { haveEffect(e); leave(e, me) };
     /* [src/handlers/externalLane.ts: runOne] [src/ledger/finish.ts: finishLedger] */
     if
     :: atomic { OURS(e, me) -> finishClaim(e); goto settle }
     :: atomic { !OURS(e, me) -> goto notOurs }
     :: atomic { CRASH -> crashes--; goto killed }
     fi
#endif
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
handOver:
#ifdef ACK_BEFORE_HAND_OVER
  atomic { acknowledge(e, me) };
#endif
  /* Release and insert in one statement [src/deliveries/handOver.ts: handOver]. */
  if
  :: atomic {
       if
       :: withToken && OURS(e, me) ->
            removeClaim(e); printf("worker %d hands event %d over\n", me, e);
            if
            :: delivery[e] == NO -> delivery[e] = WAITING
            :: delivery[e] == WAITING
            :: delivery[e] == BURIED -> goto notOurs
            fi;
            attempts[e] = attempts[e] + spent; early[e] = early[e] || spent; told = attempts[e]; goto start
       :: withToken && !OURS(e, me) -> goto notOurs
       :: !withToken && delivery[e] == NO ->
            printf("worker %d leaves event %d to a delivery run\n", me, e); delivery[e] = WAITING; attempts[e] = 0; told = 0; goto start
       :: !withToken && delivery[e] != NO -> goto notOurs
       fi }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
notOurs:
  /* Somebody took the claim over, or PostgreSQL lost it: only the ledger knows [src/handlers/lane.ts: askAgain]. */
#ifdef NO_ASK_AGAIN
  goto settle;
#else
  atomic { saw = NONE; told = 0; sawDelivery = false; sawOver = false; withToken = false; spent = 0; goto claim };
#endif
start:
  /* Or Temporal is away, and it is left to the sweep. */
  if
  :: atomic { startRun(e, told) }
  :: skip
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
settle:
  if
  :: atomic { acknowledge(e, me); goto idle }   /* [src/consumer/acks.ts: ack] */
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
killed:
  atomic { die(e, me); goto idle }
}

#ifdef NO_EXPECTED_ATTEMPTS
#define AS_KNOWN true
#else
#define AS_KNOWN (attempts[e] == expected)
#endif
/* Its run has waited for the time that it knows of, and says how many attempts it knows of. */
#define BEGIN(i) \
  :: atomic { asked[i] == ASKED && !LIVE(i) -> \
       e = i; asked[e] = STARTED; askedOf[e] = me; atWork[me] = true; \
       expected = known[e]; early[e] = early[e] && known[e] != attempts[e] }

/* One attempt of a delivery run [src/activities/deliverer.ts: attempt] [src/workflows/deliverEvent.ts: seeThrough]. While
   another's lease lives each would be deferred to its end, so none begins here before. */
active [2] proctype Deliverer() provided (!asleep[_pid]) {
  byte e, expected, spent;
  mtype:ledger saw;
  bool sawOver, goesOn;
idle:
  atomic { e = 0; expected = 0; spent = 0; saw = NONE; sawOver = false; goesOn = false; atWork[me] = false };
end:
  if
  BEGIN(0)
#if EVENTS > 1
  BEGIN(1)
  BEGIN(2)
#endif
  fi;
  /* [src/deliveries/attempt.ts: beginAttempt] */
  if
  :: atomic { saw = ledger[e]; sawOver = over[e];
       if
       :: saw == BUSY && sawOver -> own[e] = own[e] | BIT(me)
       :: else
       fi }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
  atomic {
    spent = attempts[e];
    if
    :: delivery[e] != WAITING -> goesOn = false
    :: delivery[e] == WAITING && ledger[e] == NONE && AS_KNOWN ->
         assert(!early[e]);                    /* property: no attempt begins before its time */
         insertClaim(e, me); saw = NONE; printf("worker %d claims event %d for attempt %d\n", me, e, spent + 1); goto handle
    :: delivery[e] == WAITING && !(ledger[e] == NONE && AS_KNOWN) ->
         if
         :: saw == FINISHED -> delivery[e] = NO; attempts[e] = 0; early[e] = false; goesOn = false
         /* Behind, or held: its run hears how many were spent. */
         :: saw == NONE || saw == BUSY && !sawOver -> goesOn = true
         /* A lost worker is an attempt [src/activities/attemptEnds.ts: lost]. */
         :: saw == BUSY && sawOver -> goto failed
         fi
    fi
  };
  goto answer;
handle:
  if
  :: atomic { enter(e, me) }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
  if
  :: atomic { failures > 0 -> failures--; leave(e, me); printf("worker %d: the handler of event %d throws\n", me, e); goto failed }
#ifdef TRANSACTIONAL
  /* [src/deliveries/attempt.ts: finishAttempt] */
  :: atomic { leave(e, me);
       if
       :: OURS(e, me) -> finishClaim(e); haveEffect(e); delivery[e] = NO; attempts[e] = 0; early[e] = false;
            printf("worker %d commits event %d\n", me, e)
       :: else -> printf("worker %d rolls event %d back: its claim is gone\n", me, e)
       fi;
       goesOn = ledger[e] != FINISHED; goto answer }
#else
  :: atomic { haveEffect(e); leave(e, me) };
     if
     :: atomic { OURS(e, me) -> finishClaim(e); delivery[e] = NO; attempts[e] = 0; early[e] = false; goesOn = false; goto answer }
     :: atomic { !OURS(e, me) -> goesOn = true; goto answer }
     :: atomic { CRASH -> crashes--; goto killed }
     fi
#endif
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
failed:
  /* [src/deliveries/attempt.ts: endAttempt] */
  if
  :: atomic {
       if
       :: OURS(e, me) -> removeClaim(e);
            spent = spent + (saw == BUSY -> LOST_ATTEMPT : 1); goesOn = spent < MAX_ATTEMPTS;
            if
            :: delivery[e] == WAITING ->
                 attempts[e] = spent; delivery[e] = (goesOn -> WAITING : BURIED); early[e] = goesOn
            :: else
            fi;
            printf("worker %d writes that attempt %d of event %d failed\n", me, spent, e); goto answer
       :: else
       fi }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
  /* Not its own to end: the answer is what has become of it [src/activities/attemptEnds.ts: asItIs]. */
  if
  :: atomic { spent = attempts[e]; goesOn = delivery[e] == WAITING }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
answer:
  /* What is written stays so whether its run hears of it or not. */
  if
  :: atomic {
       if
       :: asked[e] == STARTED && askedOf[e] == me ->
            opened[e] = goesOn; asked[e] = (goesOn -> ASKED : IDLE); known[e] = (goesOn -> spent : 0)
       :: else
       fi;
       goto idle }
  :: atomic { CRASH -> crashes--; goto killed }
  fi;
killed:
  atomic { die(e, me); goto idle }
}
#undef me

#define EACH(i) \
  /* Deliveries are used up. */ \
  :: atomic { AGAIN(i) && tries[i] == MAX_DELIVER -> message[i] = SPENT; printf("the broker gives event %d up\n", i) } \
  /* The lease ends when nobody renews it; awake again, its worker renews it while it is its own. */ \
  :: d_step { LIVE(i) && EXPIRES(i) -> \
       printf("the ledger lease of event %d is over\n", i); over[i] = true; \
       excused[i] = excused[i] | (busyBy[i] != NOBODY && asleep[busyBy[i]] -> BIT(busyBy[i]) : 0) } \
  :: d_step { ledger[i] == BUSY && over[i] && busyBy[i] != NOBODY && !asleep[busyBy[i]] && (own[i] & BIT(busyBy[i])) -> over[i] = false } \
  /* The activity of a worker that stands still has timed out. */ \
  :: d_step { asked[i] == STARTED && asleep[askedOf[i]] -> asked[i] = ASKED } \
  :: d_step { lost > 0 && ledger[i] == BUSY && relaxed[i] -> \
       lost--; excused[i] = excused[i] | (FORGIVEN && busyBy[i] != NOBODY -> BIT(busyBy[i]) : 0); budget[i]++; removeClaim(i); printf("PostgreSQL is killed, and has lost the claim of event %d\n", i) } \
  :: d_step { relaxed[i] && lost > 0 -> relaxed[i] = false } \
  :: d_step { orders > 0 && opened[i] -> orders--; opened[i] = false; asked[i] = IDLE; known[i] = 0; printf("an operator terminates the run of event %d\n", i) } \
  :: d_step { orders > 0 && delivery[i] == BURIED -> \
       orders--; delivery[i] = WAITING; attempts[i] = 0; early[i] = false; budget[i] = MAX_ATTEMPTS; printf("an operator re-emits event %d\n", i) } \
  /* [src/deliveries/sweep.ts: takeOrphans] */ \
  :: d_step { SWEEP && delivery[i] == WAITING && !opened[i] -> \
       opened[i] = true; asked[i] = ASKED; known[i] = attempts[i]; early[i] = false; printf("the sweep starts a run for event %d\n", i) } \
  /* [src/deliveries/recordExhausted.ts: recordExhausted] [src/deliveries/findUnowned.ts: findUnowned] */ \
  :: atomic { GRAVEYARD && message[i] == SPENT && !LIVE(i) && look == 0 -> \
       if \
       :: ledger[i] == FINISHED || delivery[i] != NO -> message[i] = ACKED \
       :: else -> e = i; look = 1 \
       fi }

#if defined(NO_LEASE)
#define EXPIRES(i) false
#elif defined(LEASE_TOO_SHORT)
#define EXPIRES(i) true
#else
#define EXPIRES(i) (busyBy[i] == NOBODY || asleep[busyBy[i]])
#endif
#ifdef NO_SWEEP
#define SWEEP false
#else
#define SWEEP true
#endif
#ifdef NO_GRAVEYARD
#define GRAVEYARD false
#else
#define GRAVEYARD true
#endif

/* What happens by itself: time, the broker, the sweep, the graveyard, PostgreSQL's and an operator's doings. */
active proctype World() {
  byte e;
  mtype:ledger saw = NONE;
  byte look;                     /* 1: found unowned; 2: the statement that buries has its snapshot */
  d_step {
    for (e : 0 .. N - 1) {
      message[e] = NEW; ledger[e] = NONE; delivery[e] = NO; asked[e] = IDLE; busyBy[e] = NOBODY;
      budget[e] = MAX_ATTEMPTS
    }
    e = 0
  };
end:
  do
  EACH(0)
#if EVENTS > 1
  EACH(1)
  EACH(2)
#endif
  /* What it does not see in its snapshot it takes for absent. */
  :: atomic { look == 1 -> saw = ledger[e]; look = 2 }
  :: atomic { look == 2 ->
       if
       :: saw == NONE && delivery[e] == NO ->
            delivery[e] = BURIED; message[e] = ACKED; printf("event %d becomes a dead letter\n", e)
       :: saw == NONE && delivery[e] != NO -> message[e] = ACKED
       :: saw == FINISHED -> message[e] = ACKED
       :: saw == BUSY && ledger[e] == BUSY && over[e] && delivery[e] == NO ->
            removeClaim(e); message[e] = ACKED; delivery[e] = BURIED;
            printf("the graveyard releases the claim of event %d\n", e)
       :: else                                                     /* held: asked again later */
       fi;
       look = 0; saw = NONE; e = 0 }
  od
}

/* A worker that stands still, until it goes on. */
active proctype Freezer() {
end:
  do
  :: d_step { freezes > 0 && atWork[0] && !asleep[0] -> freezes--; asleep[0] = true; printf("worker 0 stands still\n") }
  :: d_step { freezes > 0 && atWork[1] && !asleep[1] -> freezes--; asleep[1] = true; printf("worker 1 stands still\n") }
  :: d_step { freezes > 0 && atWork[2] && !asleep[2] -> freezes--; asleep[2] = true; printf("worker 2 stands still\n") }
  :: d_step { freezes > 0 && atWork[3] && !asleep[3] -> freezes--; asleep[3] = true; printf("worker 3 stands still\n") }
  :: d_step { asleep[0] -> asleep[0] = false; printf("worker 0 goes on\n") }
  :: d_step { asleep[1] -> asleep[1] = false; printf("worker 1 goes on\n") }
  :: d_step { asleep[2] -> asleep[2] = false; printf("worker 2 goes on\n") }
  :: d_step { asleep[3] -> asleep[3] = false; printf("worker 3 goes on\n") }
  od
}

/* Nothing can happen any more. */
active proctype Quiet() {
  byte e;
  timeout ->
    printf("nothing can happen any more\n");
    for (e : 0 .. N - 1) {
      assert(message[e] == ACKED);                              /* property: nothing is lost */
      assert(ledger[e] != BUSY && delivery[e] != WAITING && !opened[e]);   /* property: nothing waits without an owner */
      assert(ledger[e] == FINISHED || delivery[e] == BURIED);   /* property: every event ends done or dead */
      assert(ledger[e] != FINISHED || effects[e] > 0)           /* property: nothing is lost */
    }
}
