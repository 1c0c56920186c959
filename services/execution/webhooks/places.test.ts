import test from 'ava';
import { createPlaces, type FreePlace } from './places.ts';

type Places = ReturnType<typeof createPlaces>;

/** A place that is there at once. */
function takeNow(places: Places, host: string): FreePlace {
  const place = places.take(host, 1);
  if (typeof place !== 'function') throw new Error('there is no place');
  return place;
}

/** A place that is waited for. */
function waitFor(places: Places, host: string, bytes = 1): Promise<FreePlace | undefined> {
  const place = places.take(host, bytes);
  if (!(place instanceof Promise)) throw new Error('it does not wait');
  return place;
}

test('one host has some places, and each that comes free goes to the first that waits', async (t) => {
  using places = createPlaces({ perHost: 2 });
  const [first, second] = [takeNow(places, 'a'), takeNow(places, 'a')];
  const order: number[] = [];
  const waiting = [1, 2].map(async (number) => {
    const free = await waitFor(places, 'a');
    order.push(number);
    return free;
  });
  takeNow(places, 'b')();
  first(10);
  await waiting[0];
  t.deepEqual(order, [1]);
  second(10);
  await waiting[1];
  t.deepEqual(order, [1, 2]);
  const third = waitFor(places, 'a');
  for (const each of waiting) (await each)?.();
  t.is(typeof (await third), 'function');
});

test('a place is given back once, however often that is said', (t) => {
  using places = createPlaces({ perHost: 1 });
  const place = takeNow(places, 'a');
  place();
  place();
  takeNow(places, 'a');
  t.false(typeof places.take('a', 1) === 'function');
});

test('places of all hosts are bounded, and one that comes free is given to any host', async (t) => {
  using places = createPlaces({ atOnce: 2 });
  const place = takeNow(places, 'a');
  takeNow(places, 'b');
  const waiting = waitFor(places, 'c');
  place();
  t.is(typeof (await waiting), 'function');
});

test('while places of all hosts are short, hosts that wait take turns', async (t) => {
  using places = createPlaces({ perHost: 2, atOnce: 2 });
  const free = [takeNow(places, 'a'), takeNow(places, 'a')];
  const order: string[] = [];
  const waiting = ['a', 'a', 'a', 'b', 'b', 'c'].map(async (host) => {
    const place = await waitFor(places, host);
    order.push(host);
    if (place) free.push(place);
  });
  for (const [index] of waiting.entries()) {
    free.shift()?.(10);
    while (order.length <= index) await Promise.resolve();
  }
  await Promise.all(waiting);
  t.deepEqual(order, ['a', 'b', 'c', 'a', 'b', 'a']);
});

test('more than may wait in memory, by count, by bytes or at one host, does not', (t) => {
  using places = createPlaces({ perHost: 1, mostWaiting: 3, mostWaitingAtHost: 2, mostWaitingBytes: 10 });
  for (const host of ['a', 'b', 'c']) takeNow(places, host);
  void waitFor(places, 'a');
  void waitFor(places, 'a');
  t.is(places.take('a', 1), undefined);
  t.is(places.take('b', 9), undefined);
  void waitFor(places, 'b', 8);
  t.is(places.take('c', 0), undefined);
});

test('nothing waits in memory for a host where it would take long, and what is looked at later waits as long as that takes', (t) => {
  using places = createPlaces({ perHost: 1, waitMs: 5000 });
  for (let times = 0; times < 20; times++) takeNow(places, 'slow')(10_000);
  takeNow(places, 'slow');
  t.is(places.take('slow', 1), undefined);
  const [first, second] = [places.laterMs('slow', 'x'), places.laterMs('slow', 'y')];
  t.true(first > 5000 && second > first + 5000);
  places.forget('slow', 'x');
  t.is(places.laterMs('slow', 'y'), first);
});

test('what waits is told that nothing came free when its time is over, or when the places go', async (t) => {
  const places = createPlaces({ perHost: 1, waitMs: 200 });
  takeNow(places, 'a');
  t.is(await waitFor(places, 'a'), undefined);
  const waiting = waitFor(places, 'a');
  places[Symbol.dispose]();
  t.is(await waiting, undefined);
  t.is(places.take('b', 1), undefined);
});
