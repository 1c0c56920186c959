import test from 'ava';
import { createLifetime } from './lifetime.ts';

test('a chat that does nothing ends when it is left', (t) => {
  const { signal, leave, rejoin } = createLifetime();
  leave();
  t.true(signal.aborted);
  t.false(rejoin());
});

test('a chat that is left goes on until all of its work has ended, also with a failure', async (t) => {
  const { signal, during, leave } = createLifetime();
  const [one, other] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const works = [during(() => one.promise), during(() => other.promise)];
  leave();
  one.resolve('sent');
  t.is(await works[0], 'sent');
  t.false(signal.aborted);
  other.reject(new Error('refused'));
  await t.throwsAsync(async () => works[1], { message: 'refused' });
  t.true(signal.aborted);
});

test('a chat to which the reader has come back is kept when its work has ended', async (t) => {
  const { signal, during, leave, rejoin } = createLifetime();
  const sent = Promise.withResolvers<undefined>();
  const work = during(() => sent.promise);
  leave();
  t.true(rejoin());
  sent.resolve(undefined);
  await work;
  t.false(signal.aborted);
});

test('a chat that is ended ends at once, whatever it does', (t) => {
  const { signal, during, end } = createLifetime();
  void during(() => new Promise(() => undefined));
  end();
  t.true(signal.aborted);
});

test('a failure while the reader is away is given once; what failed before, or was ended, is not missed', async (t) => {
  const { during, leave, rejoin, end, takeMissed } = createLifetime();
  const refuse = async (): Promise<never> => Promise.reject(new Error('refused'));
  await t.throwsAsync(during(refuse));
  t.is(takeMissed(), undefined);
  const [sent, other] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  const works = [during(() => sent.promise), during(() => other.promise)];
  leave();
  const refusal = new Error('refused');
  sent.reject(refusal);
  await t.throwsAsync(async () => works[0]);
  t.true(rejoin());
  t.is(takeMissed(), refusal);
  t.is(takeMissed(), undefined);
  leave();
  end();
  other.reject(refusal);
  await t.throwsAsync(async () => works[1]);
  t.is(takeMissed(), undefined);
});
