import test from 'ava';
import { createListening } from './listening.ts';
import { createTail, neverSynced, type Tail } from './tail.ts';

/** Logs with a clock of their own. Of `written` runs this replica is the writer. */
function open(written: readonly string[] = []) {
  const subscribed = new Set<string>();
  const compared: string[] = [];
  const writing = new Set(written);
  let time = 1000;
  let lastKnown = -1;
  const listening = createListening({
    live: {
      subscribe: (subject) => {
        subscribed.add(subject);
        return { [Symbol.dispose]: () => void subscribed.delete(subject) };
      },
    },
    places: { search: ({ runId, agentHash = 'agent' }) => `events.${agentHash}.${runId}` },
    isWriting: (runId) => writing.has(runId),
    compare: (tail) => {
      compared.push(tail.runId);
      tail.comparedAt = lastKnown;
    },
    now: () => time,
  });
  return {
    ...{ listening, subscribed, compared, writing },
    /** Looks at the logs once a second, for so many seconds; the stream's last sequence is as given. */
    pass: (seconds: number, tails: readonly Tail[], lastSeq: (second: number) => number) => {
      for (let second = 1; second <= seconds; second++) {
        time += 1000;
        lastKnown = lastSeq(second);
        listening.check(tails, lastKnown);
      }
    },
  };
}

const tailOf = (runId: string): Tail => createTail(runId, `events.agent.${runId}`);
const readTail = (runId: string): Tail => ({ ...tailOf(runId), listeners: 1 });

test('a replica subscribes to a log that it has readers of, and to one that it writes only once that is quiet', (t) => {
  const { listening, subscribed, compared, pass } = open(['own']);
  const [read, own] = [readTail('read'), readTail('own')];
  listening.noteFrame(own);
  for (const tail of [read, own]) listening.cover(tail);
  t.deepEqual([...subscribed], [read.subject]);
  t.true(listening.covers(own));
  pass(1, [read, own], () => 7);
  t.deepEqual(compared, []);
  pass(1, [own], () => 7);
  t.deepEqual([[...subscribed], compared], [[read.subject, own.subject], ['own']]);
  t.is(own.syncedAtGap, neverSynced);
  listening.wrote(own);
  t.deepEqual([...subscribed], [read.subject]);
  listening.end(read);
  t.is(subscribed.size, 0);
  t.false(listening.covers(read));
});

test('what a writer knows of a log that is quiet counts no more for readers that come', (t) => {
  const { listening, subscribed, pass } = open(['r']);
  const tail = readTail('r');
  listening.noteFrame(tail);
  pass(2, [], () => 7);
  t.false(listening.covers(tail));
  listening.cover(tail);
  t.deepEqual([...subscribed], [tail.subject]);
});

test('a log that is written here and has no readers is looked at ever more rarely, and not subscribed to', (t) => {
  const { listening, subscribed, compared, pass } = open(['asleep']);
  const tail = tailOf('asleep');
  listening.noteFrame(tail);
  const hour = 3600;
  pass(hour, [tail], (second) => second);
  t.is(subscribed.size, 0);
  t.true(compared.length > 8 && compared.length < 16, String(compared.length));
});

test('quiet logs with readers are looked at before those without', (t) => {
  const { listening, compared, pass } = open(['asleep']);
  const asleep = Array.from({ length: 1000 }, () => tailOf('asleep'));
  const read = readTail('read');
  for (const tail of [...asleep, read]) listening.noteFrame(tail);
  pass(2, [...asleep, read], () => 7);
  t.is(compared[0], 'read');
});

test('a log whose writer here is replaced is subscribed to from then on', (t) => {
  const { listening, subscribed, writing } = open(['r']);
  const tail = readTail('r');
  listening.noteFrame(tail);
  listening.cover(tail);
  t.is(subscribed.size, 0);
  writing.clear();
  listening.cover(tail);
  t.deepEqual([...subscribed], [tail.subject]);
});

test('a quiet log is looked at after pauses that double up to half a minute, and not while nothing was stored of any', (t) => {
  const { listening, compared, pass } = open();
  const tail = readTail('r');
  listening.cover(tail);
  const seconds: number[] = [];
  pass(100, [tail], (second) => {
    if (compared.length > seconds.length) seconds.push(second - 1);
    return second;
  });
  t.deepEqual(seconds, [2, 6, 14, 30, 60, 90]);
  const before = compared.length;
  pass(100, [tail], () => 100);
  t.true(compared.length <= before + 1);
  listening.noteFrame(tail);
  pass(2, [tail], () => 101);
  t.is(compared.at(-1), 'r');
});

test('of many quiet logs each is looked at, a bounded number of them in one second', (t) => {
  const { listening, compared, pass } = open();
  const tails = Array.from({ length: 100 }, (_, index) => readTail(String(index)));
  for (const tail of tails) listening.cover(tail);
  pass(2, tails, () => 1);
  t.is(compared.length, 32);
  pass(4, tails, () => 1);
  t.is(new Set(compared).size, 100);
});

test('of more quiet logs than there is time for each is looked at in its turn', (t) => {
  const { listening, compared, pass } = open(['asleep']);
  const read = Array.from({ length: 2000 }, (_, index) => readTail(String(index)));
  const asleep = tailOf('asleep');
  const tails = [...read, asleep];
  for (const tail of read) listening.cover(tail);
  listening.noteFrame(asleep);
  pass(300, tails, (second) => second);
  t.is(new Set(compared).size, tails.length);
});

test('a log that others may go on with is subscribed to at once, until it is written here again', (t) => {
  const { listening, subscribed } = open(['r']);
  const tail = readTail('r');
  listening.noteFrame(tail);
  listening.cover(tail);
  t.is(subscribed.size, 0);
  listening.leave(tail);
  t.deepEqual([...subscribed], [tail.subject]);
  listening.end(tail);
  listening.cover(tail);
  t.deepEqual([...subscribed], [tail.subject], 'for readers that come later, too');
  listening.wrote(tail);
  t.is(subscribed.size, 1, 'behind what was on its way');
  tail.left = false;
  listening.wrote(tail);
  listening.cover(tail);
  t.is(subscribed.size, 0);
});

test('a log that was rarely looked at, as it had no readers, is soon looked at once it has one', (t) => {
  const { listening, subscribed, compared, pass } = open(['asleep']);
  const tail = tailOf('asleep');
  listening.noteFrame(tail);
  // It is looked at in the last of these seconds, and then not for ten minutes.
  pass(1622, [tail], (second) => second);
  const before = compared.length;
  tail.listeners = 1;
  listening.cover(tail);
  pass(3, [tail], (second) => 2000 + second);
  t.deepEqual([[...subscribed], compared.length], [[tail.subject], before + 1]);
});

test('a log that was found at another subject is subscribed to there, and is not known up to then', (t) => {
  const { listening, subscribed } = open();
  const tail = readTail('r');
  listening.cover(tail);
  t.true(listening.isInPlace(tail));
  tail.agentHash = 'other';
  t.false(listening.isInPlace(tail));
  t.deepEqual([...subscribed], ['events.other.r']);
  t.true(listening.isInPlace(tail));
});

test('a log that has ended is not looked at, however long its readers take', (t) => {
  const { subscribed, compared, pass } = open();
  const tail = { ...readTail('r'), ended: true };
  pass(100, [tail], (second) => second);
  t.deepEqual([subscribed.size, compared.length], [0, 0]);
});
